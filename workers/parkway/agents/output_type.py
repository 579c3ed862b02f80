"""What a chat model's answers are: text, JSON of a schema, or instances of a Python type."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from parkway.agents.errors import AgentError
from parkway.schemas import jsonio


class OutputType:
    """`schema` is what the model is held to; a Python type also checks what no JSON schema says.

    `given` is a type that pydantic can validate, or a JSON schema. Raises AgentError for anything else.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self._adapter: TypeAdapter[Any] | None = None
        if isinstance(given, Mapping):
            self.schema: dict[str, Any] = dict(given)
            return
        if isinstance(given, str):
            raise AgentError(f"output_type={given!r}: a type such as a pydantic model, or a JSON schema")
        try:
            self._adapter = TypeAdapter(given)
            self.schema = self._adapter.json_schema()
        except (PydanticUserError, TypeError) as error:
            raise AgentError(f"output_type={given!r}: no JSON schema can be made of it: {error}") from error

    def read(self, text: str) -> Any:
        """The value that an answer's text holds. Raises ValueError that says where it does not fit, for the model."""
        if self._adapter is None:
            return jsonio.loads(text)
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
            raise ValueError(f"${path}: {first['msg'].removeprefix('Value error, ')}") from None
