"""JSON values as a JSON schema sees them: their types, when two are equal, and how one is shown in a message."""

from collections.abc import Callable
from typing import Any, Final

from parkway.schemas import jsonio


def is_number(value: Any) -> bool:
    """Whether it is a number; true and false are none in JSON."""
    return isinstance(value, int | float) and not isinstance(value, bool)


TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": lambda value: is_number(value) and float(value).is_integer(),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def comparable(value: Any) -> Any:
    """A form in which 1 and 1.0 are the same, 1 and true are not, and the order of keys does not count."""
    if isinstance(value, dict):
        return [[name, comparable(value[name])] for name in sorted(value)]
    if isinstance(value, list):
        return {"list": [comparable(item) for item in value]}
    if isinstance(value, bool):
        return {"bool": value}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def equal(left: Any, right: Any) -> bool:
    """Whether they are one JSON value: 1 is 1.0."""
    return bool(comparable(left) == comparable(right))


def show(value: Any) -> str:
    """As JSON, shortened to 80 characters."""
    text = jsonio.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."
