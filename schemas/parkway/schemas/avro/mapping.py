"""Between an event's JSON object and the Avro record of its schema, member by member, without a loss.

A field has the name of its JSON member. A string of the logical type `json` holds free-form JSON as text. A field
that is null stands for an absent member, unless the record's `nulls` names it: then the member is null. Members
that a schema does not name go as JSON into its `more`; a record without one has no place for them.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from parkway.schemas import jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.format_error import FormatError
from parkway.schemas.json_form import kind_of, member_path

NULLS: Final = "nulls"
MORE: Final = "more"

_INT: Final = (-(2**31), 2**31 - 1)
_LONG: Final = (-(2**63), 2**63 - 1)

To = Callable[[Any, str], Any]  # value, path -> value for fastavro
From = Callable[[Any], Any]  # and back


class MisfitError(ValueError):
    """A JSON value that a schema has no place for."""

    def __init__(self, path: str, expected: str, value: Any) -> None:
        super().__init__(f"{path or 'record'}: expected {expected}, got {kind_of(value)}")


class Mapping:
    """Both directions for one schema, prepared once."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._to, self._from = _compile(schema, {})

    def to_record(self, value: Any) -> Any:
        """A JSON object -> what fastavro writes. Raises MisfitError."""
        return self._to(value, "")

    def from_record(self, record: Any) -> dict[str, Any]:
        """What fastavro read -> a JSON object that `jsonio.dumps` writes, numbers as they came.

        Raises FormatError for a text that is no JSON.
        """
        value: dict[str, Any] = self._from(record)
        return value


def _compile(schema: Any, named: dict[str, tuple[To, From]]) -> tuple[To, From]:
    if isinstance(schema, list):
        return _union(schema, named)
    if isinstance(schema, str):
        return named[schema] if schema in named else _SCALARS[schema]
    if schema.get("logicalType") == "json":
        return _json_to, _json_from
    if schema["type"] == "record":
        named[schema["name"]] = pair = _record(schema, named)
        return pair
    if schema["type"] == "array":
        return _array(*_compile(schema["items"], named))
    if schema["type"] == "map":
        return _map(*_compile(schema["values"], named))
    return _compile(schema["type"], named)


def _record(schema: dict[str, Any], named: dict[str, tuple[To, From]]) -> tuple[To, From]:
    fields: dict[str, tuple[To, From, bool]] = {}
    for field in schema["fields"]:
        if field["name"] not in {NULLS, MORE}:
            optional = isinstance(field["type"], list) and field["type"][0] == "null"
            fields[field["name"]] = (*_compile(field["type"], named), optional)
    has_more = any(field["name"] == MORE for field in schema["fields"])
    kind = schema["name"]

    def to(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise MisfitError(path, f"an object ({kind})", value)
        record: dict[str, Any] = {}
        nulls: list[str] = []
        for name, (convert, _, optional) in fields.items():
            if name not in value:
                if not optional:
                    raise MisfitError(path, f"a member {name!r}", value)
                record[name] = None
            elif value[name] is None and optional:
                record[name] = None
                nulls.append(name)
            else:
                record[name] = convert(value[name], member_path(path, name))
        if not value.keys() <= fields.keys():
            rest = {name: item for name, item in value.items() if name not in fields}
            if not has_more:
                raise MisfitError(path, f"no other members than {', '.join(fields)}", next(iter(rest)))
            record[MORE] = _json_to(rest, path)
        record[NULLS] = nulls
        return record

    def back(record: dict[str, Any]) -> dict[str, Any]:
        value = {
            name: convert(record[name])
            for name, (_, convert, optional) in fields.items()
            if not (optional and record[name] is None)
        }
        if record[NULLS]:
            value.update({name: None for name in record[NULLS] if name in fields and name not in value})
        if has_more and record[MORE] is not None:
            rest = _json_from(record[MORE])
            if not isinstance(rest, dict):
                raise FormatError(DlqReason.INVALID_AVRO, f"{kind}.{MORE}: expected a JSON object, got {kind_of(rest)}")
            value = rest | value
        return value

    return to, back


def _union(branches: list[Any], named: dict[str, tuple[To, From]]) -> tuple[To, From]:
    """`null` and one type, or `null`, `long` and `double`: other unions stand in no schema of ours."""
    if branches == ["null", "long", "double"]:
        return _number_to, _number_from
    convert, back = _compile(branches[1], named)
    return (
        lambda value, path: None if value is None else convert(value, path),
        lambda value: None if value is None else back(value),
    )


def _array(convert: To, back: From) -> tuple[To, From]:
    def to(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise MisfitError(path, "a list", value)
        return [convert(item, f"{path}[{i}]") for i, item in enumerate(value)]

    return to, lambda value: [back(item) for item in value]


def _map(convert: To, back: From) -> tuple[To, From]:
    def to(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise MisfitError(path, "an object", value)
        return {key: convert(item, member_path(path, key)) for key, item in value.items()}

    return to, lambda value: {key: back(item) for key, item in value.items()}


def _same(value: Any) -> Any:
    return value


def _json_to(value: Any, path: str) -> str:
    try:
        return jsonio.dumps(value).decode()
    except TypeError:
        raise MisfitError(path, "a JSON value", value) from None


def _json_from(text: str) -> Any:
    try:
        value = jsonio.loads(text)
    except jsonio.JsonError as error:
        raise FormatError(error.reason, f"a text of JSON inside the Avro record: {error}") from None
    return jsonio.loads_for_writing(text.encode(), value)


def _text_to(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise MisfitError(path, "a string", value)
    return value


def _flag_to(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise MisfitError(path, "true or false", value)
    return value


def _whole_to(limits: tuple[int, int]) -> To:
    low, high = limits

    def to(value: Any, path: str) -> int:
        if type(value) is not int or not low <= value <= high:
            raise MisfitError(path, f"a whole number from {low} to {high}", value)
        return value

    return to


def _double_to(value: Any, path: str) -> float:
    if type(value) is float:
        return value
    if type(value) is int and abs(value) <= 2**53:  # a whole number that a double holds exactly
        return float(value)
    raise MisfitError(path, "a number", value)


def _number_to(value: Any, path: str) -> Any:
    if value is None or type(value) is float:
        return value
    return _long_to(value, path)


def _number_from(value: float | None) -> Any:
    if value is not None and not isfinite(value):
        raise FormatError(DlqReason.INVALID_AVRO, f"{value} is not a JSON number")
    return value


_long_to = _whole_to(_LONG)
_SCALARS: Final[dict[str, tuple[To, From]]] = {
    "string": (_text_to, _same),
    "boolean": (_flag_to, _same),
    "int": (_whole_to(_INT), _same),
    "long": (_long_to, _same),
    "double": (_double_to, _number_from),
}
