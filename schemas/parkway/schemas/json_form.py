"""Python values -> the JSON form that events are written in: a copy that shares nothing with the original."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from math import isfinite
from reprlib import Repr
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from parkway.schemas import jsonio

_SHORT: Final = Repr()
_SHORT.maxstring = _SHORT.maxother = 60

# What orjson can write; a larger integer would come back as a rounded float.
_SMALLEST_INT: Final = -(2**63)
_LARGEST_INT: Final = 2**64 - 1


class EventError(ValueError):
    """Bytes or objects that are no event: the message names the place, the value and the way out."""


def short(value: Any) -> str:
    """`repr` for messages to who wrote the code: cut to a line, and no error when `__repr__` itself raises.

    Not for what came in by Kafka: see `kind_of`.
    """
    try:
        return _SHORT.repr(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be printed>"


def kind_of(value: Any) -> str:
    """What a JSON value is, for messages about what came in: they stand in headers and logs, where no content may."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def valid_text(text: str) -> str:
    """The same, with `?` for each lone surrogate: for what others say (exceptions, providers), which no record takes.

    They come from file names that are no Unicode, and from servers that cut an emoji in two.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def json_form(value: Any, path: str, depth: int = 0) -> Any:
    """Copy `value` as dict, list, str, int, float, bool and None, the way pydantic writes JSON.

    UUID, datetime, Decimal and the like become text, tuples and sets lists (a set in the order of its
    elements' JSON), enums their value, pydantic models and dataclasses maps. `depth` is how many maps and
    lists enclose the value where it will stand.

    Raises EventError with the path (`user_context.a[2].b`) of the first value that has no such form.
    """
    try:
        return _plain(value, depth)
    except _NotPlainError:
        return _any(value, path, depth)


class _NotPlainError(Exception):
    """A value is no plain JSON, or too much of it."""


def _plain(value: Any, depth: int) -> Any:
    """The copy of what is JSON already, as most values are: no path is built on the way. Raises _NotPlainError."""
    kind = type(value)
    if kind is str:
        if value.isascii() or _is_valid(value):
            return value
    elif value is None or kind is bool:
        return value
    elif kind is int:
        if _SMALLEST_INT <= value <= _LARGEST_INT:
            return value
    elif kind is float:
        if isfinite(value):
            return value
    elif depth < jsonio.MAX_DEPTH:
        if kind is list:
            return [_plain(item, depth + 1) for item in value]
        if kind is dict and all(type(key) is str and (key.isascii() or _is_valid(key)) for key in value):
            return {key: _plain(item, depth + 1) for key, item in value.items()}
    raise _NotPlainError


def _any(value: Any, path: str, depth: int) -> Any:
    """The same for every value."""
    if value is None or value is True or value is False:
        return value
    own_form = getattr(type(value), "__json_form__", None)
    if own_form is not None:
        value = own_form(value)
    elif isinstance(value, Enum):
        return json_form(value.value, path, depth)
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        return _integer(value, path)
    if isinstance(value, float):
        return _number(value, path)
    if depth >= jsonio.MAX_DEPTH:
        raise EventError(f"{_shortened(path)}: nested deeper than {jsonio.MAX_DEPTH} levels, or contains itself")
    if isinstance(value, dict | Mapping):  # dict first: an abstract class takes ten times as long
        return _map(value, path, depth + 1)
    if isinstance(value, list | tuple):
        return [json_form(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, AbstractSet):
        return sorted((json_form(item, f"{path}{{}}", depth + 1) for item in value), key=jsonio.dumps)
    return json_form(_other(value, path), path, depth)


def member_path(path: str, key: str) -> str:
    """`path` of a map and a key in it -> `path.key`, or `path['odd key']`."""
    if not key.isidentifier():
        return f"{path}[{short(key)}]"
    return f"{path}.{key}" if path else key


def _map(value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
    form: dict[str, Any] = {}
    for key, item in value.items():
        name = _text(key, path) if isinstance(key, str) and not isinstance(key, Enum) else _key(key, path)
        if name in form:
            raise EventError(f"{path}: two keys become {short(name)} in JSON")
        form[name] = json_form(item, member_path(path, name), depth)
    return form


def _key(key: Any, path: str) -> str:
    try:
        (name,) = to_jsonable_python({key: None})
    except (ValueError, TypeError):
        raise EventError(f"{path}: key {short(key)} cannot be written as JSON; use a string") from None
    return _text(name, path)


def _text(value: str, path: str) -> str:
    text = str.__str__(value)
    if not _is_valid(text):
        raise EventError(f"{path}: {short(text)} is not valid Unicode (a lone surrogate)")
    return text


def _is_valid(text: str) -> bool:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def _integer(value: int, path: str) -> int:
    number = int(value)
    if not _SMALLEST_INT <= number <= _LARGEST_INT:
        raise EventError(f"{path}: {short(number)} does not fit into 64 bits; send it as a string")
    return number


def _number(value: float, path: str) -> float:
    number = float(value)
    if not isfinite(number):
        raise EventError(f"{path}: {number} is not a JSON number; send null or a string")
    return number


def _other(value: Any, path: str) -> Any:
    """The form of what is no plain JSON type, in builtin types one level down."""
    try:
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json", warnings=False)  # a warning quotes what does not fit
        return to_jsonable_python(value)
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EventError(f"{path}: {short(value)} cannot be written as JSON: {reason}") from None


def _shortened(path: str) -> str:
    return path if len(path) <= 80 else f"{path[:80]}..."
