"""`ctx.state`: what an action remembers of one record key."""

from collections.abc import Iterator, MutableMapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from parkway.agents.errors import ContextError
from parkway.schemas import jsonio
from parkway.schemas.json_form import json_form
from parkway.schemas.state import StateError, StateRecord

Model = TypeVar("Model", bound=BaseModel)


class State(MutableMapping[str, Any]):
    """A small map of JSON values, as the last record of this key left it; empty for a key that is new.

    What a handler changes is committed with its results, in one transaction, and forgotten when it raises. Values are
    written in their JSON form (a datetime becomes text); they come back as that JSON. `load` and `save` read and
    write the whole of it as a pydantic model.

    An empty map takes no room: `clear()` (or deleting the last value) forgets the key. Raises StateError, at the line
    that sets it, for a value that has no JSON form (an EventError) and for state beyond `PARKWAY_MAX_STATE_BYTES`.
    """

    def __init__(self, action: str, record_key: bytes, written: bytes | None, largest: int) -> None:
        """`written` is the record in `<namespace>.state`, `largest` bounds its JSON in bytes. Called by the worker."""
        self._where = f"action {action!r}: state of key {record_key!r}"
        self._largest = largest
        try:
            self._values = StateRecord.from_json(written).state if written is not None else {}
        except StateError as error:
            raise StateError(f"{self._where} cannot be read: {error}") from None
        self._was = jsonio.dumps(self._values)
        self._closed = False

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"ctx.state[{name!r}]: a name is text")
        self._replace({**self._values, name: json_form(value, f"ctx.state[{name!r}]", 1)})

    def __delitem__(self, name: str) -> None:
        self._check_open()
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"State({self._values!r})"

    def clear(self) -> None:
        """Forget everything about this key."""
        self._check_open()
        self._values = {}

    def load(self, model: type[Model]) -> Model:
        """Give all of it as a model; fields that are not there take their defaults.

        Raises StateError when it does not fit.
        """
        try:
            return model.model_validate_json(jsonio.dumps(self._values))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "state"
            raise StateError(
                f"{self._where} does not fit {model.__name__}: {place}: {first['msg']}; give the field a default, "
                "or ctx.state.clear() it"
            ) from None

    def save(self, model: BaseModel) -> None:
        """Put a model in the place of everything that is there."""
        self._replace(json_form(model, "ctx.state"))

    def close(self) -> None:
        """No change any more. Called by the worker."""
        self._closed = True

    def changed(self) -> dict[str, Any] | None:
        """Give what is to be written; None when nothing has changed. Called by the worker.

        Raises StateError, EventError for what was changed inside a value and cannot be written.
        """
        values = json_form(self._values, "ctx.state")
        if jsonio.dumps(values) == self._was:
            return None
        self._check_size(values)
        return dict(values)

    def _replace(self, values: dict[str, Any]) -> None:
        self._check_open()
        self._check_size(values)
        self._values = values

    def _check_size(self, values: dict[str, Any]) -> None:
        size = len(jsonio.dumps(values))
        if size > self._largest:
            raise StateError(
                f"{self._where} would have {size:,} bytes, the limit is {self._largest:,} (PARKWAY_MAX_STATE_BYTES): "
                "keep what is large elsewhere, and its name here"
            )

    def _check_open(self) -> None:
        if self._closed:
            raise ContextError(f"{self._where}: changed after the handler returned: await what it started before")
