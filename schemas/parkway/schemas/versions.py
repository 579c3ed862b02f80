"""Records that carry the version of their format: this version's are read, and the one's before (rolling upgrades).

When a format changes: raise the default of the model's `v`, and give `read_versioned` the function that makes a body
of the version before into one of this version. It takes and returns the JSON object, and may rely on nothing else.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from parkway.schemas import jsonio

M = TypeVar("M", bound=BaseModel)
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]


class RecordError(ValueError):
    """Bytes that are no record of a version that is read; the message names the field and the reason."""


def version_of(model: type[BaseModel]) -> int:
    """The version that a model writes."""
    return int(model.model_fields["v"].default)


def read_versioned(model: type[M], data: bytes, upgrade: Upgrade | None = None) -> M:
    """Read a record of version v or, with `upgrade`, v-1. Raises RecordError."""
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        body, current = _object(data), version_of(model)
        found = body.get("v", current)
        if found == current:
            raise RecordError(_explained(error)) from None
        if upgrade is None or found != current - 1:
            older = "" if upgrade is None else f" and {current - 1}"
            raise RecordError(f"v: this version reads {current}{older}, got {found!r}") from None
    try:
        return model.model_validate({**upgrade(body), "v": current})
    except ValidationError as error:
        raise RecordError(f"v {found}: {_explained(error)}") from None


def _object(data: bytes) -> dict[str, Any]:
    try:
        body = jsonio.loads(data, max_depth=1000)
    except jsonio.JsonError as error:
        raise RecordError(str(error)) from None
    if not isinstance(body, dict):
        raise RecordError("expected a JSON object")
    return body


def _explained(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "record"
    return f"{where}: {first['msg']}"
