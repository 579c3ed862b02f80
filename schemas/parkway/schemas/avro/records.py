"""The `.avsc` files: what is written, and what earlier versions wrote.

`records/` holds the current schemas. A schema that was released and then changed stays in `earlier/`: single-object
encoding names a schema by its fingerprint only, so a reader must know every schema that may still be in a topic.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

from fastavro.schema import fingerprint, parse_schema, to_parsing_canonical_form

NAMESPACE: Final = "parkway"
GENERIC: Final = f"{NAMESPACE}.GenericEvent"
PARKED: Final = f"{NAMESPACE}.ParkedRecord"

_ZERO_BYTES: Final = frozenset({"null"})


class Record:
    """A schema: as JSON, as fastavro parsed it, and its fingerprint (CRC-64-AVRO, 8 bytes, little-endian)."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.text = json.dumps(schema)
        self.parsed: Any = parse_schema(schema)
        self.fingerprint = bytes.fromhex(fingerprint(to_parsing_canonical_form(self.parsed), "CRC-64-AVRO"))

    @property
    def name(self) -> str:
        """Full name, such as `parkway.ChatRequestEvent`; also the subject in a registry."""
        return str(self.parsed["name"])

    @property
    def event_type(self) -> str | None:
        """Type of the one event that this record is for; None for the generic event and the parked record."""
        return self.schema.get("eventType")


class WriterSchemaError(ValueError):
    """A schema of somebody else's that is not read, and why."""


@cache
def current() -> dict[str, Record]:
    """Full name -> record that this version writes and reads."""
    return {record.name: record for record in map(Record, _stored("records"))}


@cache
def by_event_type() -> dict[str, Record]:
    return {record.event_type: record for record in current().values() if record.event_type is not None}


@cache
def by_fingerprint() -> dict[bytes, Record]:
    """Every schema that a single-object encoding may name."""
    known = [*map(Record, _stored("earlier")), *current().values()]
    return {record.fingerprint: record for record in known}


def foreign(text: str) -> Record:
    """A schema out of a registry. Raises WriterSchemaError when it is none of ours or not safe to read with."""
    try:
        schema = json.loads(text)
        record = Record(schema)
        name = record.name
    except Exception as error:  # fastavro raises what it happens to meet
        raise WriterSchemaError(f"it is no Avro record: {error}") from None
    if name not in current():
        raise WriterSchemaError(f"its record {name[:100]!r} is none of {', '.join(sorted(current()))}")
    check_safe(record.parsed)
    return record


def check_safe(parsed: Any) -> None:
    """Raise WriterSchemaError for a schema that is not safe to read with.

    Not safe: a few bytes of data that make a reader work for minutes (arrays of items that take no bytes) or
    recurse without end (a record inside itself).
    """
    _size(parsed, {}, ())


def _size(schema: Any, sizes: dict[str, bool], inside: tuple[str, ...]) -> bool:
    """Whether a value of `schema` takes at least a byte."""
    if isinstance(schema, list):
        for branch in schema:
            _size(branch, sizes, inside)
        return True  # the branch's number is a byte
    if isinstance(schema, str):
        if schema in inside:
            raise WriterSchemaError(f"its record {schema!r} contains itself")
        return sizes.get(schema, schema not in _ZERO_BYTES)
    kind = schema["type"]
    if kind in {"record", "error"}:
        within = (*inside, schema["name"])
        taken = [_size(field["type"], sizes, within) for field in schema["fields"]]
        sizes[schema["name"]] = any(taken)
        return any(taken)
    if kind == "array" and not _size(schema["items"], sizes, inside):
        raise WriterSchemaError("the items of an array take no bytes")
    if kind == "map":
        _size(schema["values"], sizes, inside)
    if kind == "fixed":
        sizes[schema["name"]] = schema["size"] > 0
        return bool(schema["size"] > 0)
    if kind == "enum":
        return True
    return kind in {"array", "map"} or _size(kind, sizes, inside)


def _stored(folder: str) -> list[dict[str, Any]]:
    place = files(__package__) / folder
    if not place.is_dir():
        return []
    return [
        json.loads(file.read_text("utf-8"))
        for file in sorted(place.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".avsc")
    ]
