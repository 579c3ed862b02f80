"""Avro of other people's schemas, out of a registry: any record becomes a JSON object.

Bytes and fixed become base64, enums their symbol, unions the value alone. Logical types: a decimal is a number with
all its digits, dates and times are ISO 8601 (`2026-05-01`, `12:30:00.5`, `2026-05-01T12:30:00.5Z`; a local timestamp
has no `Z`), a duration is `P1M2DT3.5S`, a uuid text. What JSON has no form for (not finite numbers) is refused.

fastavro's own readers of logical types are not used: they raise on dates beyond its classes' range in many ways, and
a decimal of a megabyte takes it minutes. Ours are registered beside them under names that nobody else uses.
"""

import base64
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from math import isfinite
from typing import Any, Final
from uuid import UUID

import orjson
from fastavro import schemaless_reader
from fastavro.read import LOGICAL_READERS
from fastavro.schema import parse_schema

from parkway.schemas.avro.records import WriterSchemaError, check_safe
from parkway.schemas.errors import DlqReason
from parkway.schemas.format_error import FormatError
from parkway.schemas.json_form import short

_OURS: Final = "parkway-"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DECIMAL_BYTES: Final = 128  # 308 digits, as far as a double goes


class ForeignSchema:
    """A writer's schema. Raises WriterSchemaError for one that is not read, and says why."""

    def __init__(self, text: str) -> None:
        try:
            self._parsed = parse_schema(_renamed(json.loads(text)), _write_hint=False)
        except Exception as error:  # fastavro raises what it happens to meet
            raise WriterSchemaError(f"it is no Avro schema: {type(error).__name__}: {error}") from None
        check_safe(self._parsed)
        self.name = str(self._parsed.get("name", "value")) if isinstance(self._parsed, dict) else "value"

    def read(self, data: bytes, start: int) -> Any:
        """The value that begins there, for `jsonio.dumps`. Raises FormatError."""
        stream = BytesIO(data)
        stream.seek(start)
        try:
            value = schemaless_reader(stream, self._parsed, None)
        except Exception as error:  # fastavro: EOFError, IndexError, UnicodeDecodeError, OverflowError ...
            detail = f"{type(error).__name__}: {error}".rstrip(": ")
            raise FormatError(DlqReason.INVALID_AVRO, f"not a {self.name}: {detail}") from None
        left = len(data) - stream.tell()
        if left:
            raise FormatError(DlqReason.INVALID_AVRO, f"{left} bytes follow the {self.name}")
        return _json(value)


def _renamed(schema: Any) -> Any:
    """The schema with our readers for its logical types, and none for those that we have none for."""
    if isinstance(schema, list):
        return [_renamed(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    changed = dict(schema)
    logical = changed.pop("logicalType", None)
    if f"{schema.get('type')}-{_OURS}{logical}" in _READERS:
        changed["logicalType"] = f"{_OURS}{logical}"
    for member in ("type", "items", "values"):
        if isinstance(changed.get(member), dict | list):
            changed[member] = _renamed(changed[member])
    if isinstance(changed.get("fields"), list):
        changed["fields"] = [
            {**each, "type": _renamed(each["type"])} if isinstance(each, dict) and "type" in each else each
            for each in changed["fields"]
        ]
    return changed


def _json(value: Any) -> Any:
    """As deep as the schema, which does not contain itself."""
    if isinstance(value, dict):
        return {name: _json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not isfinite(value):
        raise FormatError(DlqReason.INVALID_AVRO, f"{value} is not a JSON number")
    return value


def _decimal(value: bytes, schema: dict[str, Any]) -> Any:
    if len(value) > _MAX_DECIMAL_BYTES:
        raise ValueError(f"a decimal of {len(value)} bytes, the limit is {_MAX_DECIMAL_BYTES}")
    scale = schema.get("scale", 0)
    if not isinstance(scale, int) or not 0 <= scale <= 1000:
        raise ValueError(f"a decimal of scale {short(scale)}")
    number = int.from_bytes(value, "big", signed=True)
    digits = Decimal(number).as_tuple()
    return orjson.Fragment(str(Decimal((digits.sign, digits.digits, -scale))))


def _date(value: int, _schema: Any) -> str:
    return (date(1970, 1, 1) + timedelta(days=value)).isoformat()


def _fraction(parts: int, per_second: int) -> str:
    digits = len(str(per_second)) - 1
    return f".{parts:0{digits}d}" if parts else ""


def _time(per_second: int) -> Callable[[int, Any], str]:
    def read(value: int, _schema: Any) -> str:
        seconds, parts = divmod(value, per_second)
        if not 0 <= seconds < 86_400:
            raise ValueError(f"{value} is no time of a day")
        return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{_fraction(parts, per_second)}"

    return read


def _instant(per_second: int, zone: str) -> Callable[[int, Any], str]:
    def read(value: int, _schema: Any) -> str:
        seconds, parts = divmod(value, per_second)
        moment = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None)
        return f"{moment.isoformat()}{_fraction(parts, per_second)}{zone}"

    return read


def _duration(value: bytes, _schema: Any) -> str:
    months, days, millis = (int.from_bytes(value[at : at + 4], "little") for at in (0, 4, 8))
    seconds, parts = divmod(millis, 1000)
    return f"P{months}M{days}DT{seconds}{_fraction(parts, 1000)}S"


_UNITS: Final = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}
# Avro type, dash, our name of the logical type -> reader (value, writer's schema).
_READERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    f"bytes-{_OURS}decimal": _decimal,
    f"fixed-{_OURS}decimal": _decimal,
    f"int-{_OURS}date": _date,
    f"int-{_OURS}time-millis": _time(_UNITS["millis"]),
    f"long-{_OURS}time-micros": _time(_UNITS["micros"]),
    f"fixed-{_OURS}uuid": lambda value, _schema: str(UUID(bytes=value)),
    f"fixed-{_OURS}duration": _duration,
    **{f"long-{_OURS}timestamp-{unit}": _instant(count, "Z") for unit, count in _UNITS.items()},
    **{f"long-{_OURS}local-timestamp-{unit}": _instant(count, "") for unit, count in _UNITS.items()},
}


def _hook(read: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """In the form that fastavro calls: value, writer's schema, reader's schema."""

    def call(value: Any, writer: Any, _reader: Any = None) -> Any:
        return read(value, writer)

    return call


LOGICAL_READERS.update({name: _hook(read) for name, read in _READERS.items()})
