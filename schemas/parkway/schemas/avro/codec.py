"""Avro bytes: how a record says which schema wrote it, and what is read out of it (DESIGN 4.4).

Confluent wire format when there is a registry: a zero byte, the schema's id (4 bytes, big-endian), the record.
Single-object encoding without one: C3 01, the schema's CRC-64-AVRO fingerprint (8 bytes, little-endian), the record.
Both are read, whichever is written.
"""

from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any, Final, Protocol, TypeVar

from fastavro import schemaless_reader, schemaless_writer

from parkway.schemas import jsonio
from parkway.schemas.avro import records
from parkway.schemas.avro.foreign import ForeignSchema
from parkway.schemas.avro.mapping import Mapping, MisfitError
from parkway.schemas.avro.records import Record
from parkway.schemas.errors import DlqReason, ParkwayError
from parkway.schemas.format_error import FormatError
from parkway.schemas.json_form import kind_of

CONFLUENT_MAGIC: Final = b"\x00"
SINGLE_OBJECT_MAGIC: Final = b"\xc3\x01"

Made = TypeVar("Made")


class RegistryUnavailableError(ParkwayError):
    """The registry gave no answer. The record is not to blame: it must be read again, not refused."""


class SchemaResolver(Protocol):
    """A schema registry. Both raise RegistryUnavailableError; both may block for as long as a request takes."""

    def schema_id(self, subject: str, schema: str) -> int:
        """The id of `schema` (Avro's JSON) under `subject`; it is registered there when it is new."""

    def schema(self, schema_id: int) -> str | None:
        """The schema of that id as Avro's JSON, or None when the registry knows none."""


class AvroCodec:
    """JSON bytes of an event or a parked record <-> Avro bytes. Safe to share between threads.

    Nothing is lost either way: an event that its own record has no place for is written as a generic event. All
    methods raise FormatError for bytes that cannot be read or written, and with a registry RegistryUnavailableError.
    """

    def __init__(self, resolver: SchemaResolver | None = None) -> None:
        self._resolver = resolver
        self._ids: dict[str, int] = {}
        self._registered: dict[int, Record] = {}
        self._foreign: dict[int, ForeignSchema] = {}

    @property
    def has_registry(self) -> bool:
        return self._resolver is not None

    def encode_event(self, event: bytes) -> bytes:
        """JSON of an event -> Avro."""
        body = _object(event)
        name = body.get("type")
        record = records.by_event_type().get(name) if isinstance(name, str) else None
        if record is not None:
            try:
                members = {member: value for member, value in body.items() if member != "type"}
                return self._framed(record, _mapping(record.name).to_record(members))
            except MisfitError:
                pass  # the generic record takes any attributes
        return self._encode(records.current()[records.GENERIC], body)

    def encode_parked(self, parked: bytes) -> bytes:
        """JSON of a parked record -> Avro."""
        return self._encode(records.current()[records.PARKED], _object(parked))

    def decode_event(self, data: bytes) -> bytes:
        """Avro -> the event's JSON, with every number inside a JSON text as it came."""
        record, body = self._decode(data)
        if record.name == records.PARKED:
            raise FormatError(DlqReason.INVALID_EVENT, "expected an event, this is a parked record")
        if record.event_type is not None:
            body["type"] = record.event_type
        return jsonio.dumps(body)

    def decode_parked(self, data: bytes) -> bytes:
        """Avro -> the parked record's JSON."""
        record, body = self._decode(data)
        if record.name != records.PARKED:
            raise FormatError(DlqReason.INVALID_EVENT, f"expected a parked record, this is {record.name}")
        return jsonio.dumps(body)

    def decode_foreign(self, data: bytes) -> bytes:
        """Avro in Confluent's framing, of any schema that the registry has -> JSON of the value."""
        if not data.startswith(CONFLUENT_MAGIC) or len(data) < 5:
            raise FormatError(
                DlqReason.INVALID_AVRO,
                f"expected Avro in Confluent's framing, 00 and a schema id; got {data[:10].hex(' ') or 'nothing'}",
            )
        schema_id = int.from_bytes(data[1:5], "big")
        if schema_id not in self._foreign:
            self._foreign[schema_id] = self._read_with(schema_id, ForeignSchema)
        return jsonio.dumps(self._foreign[schema_id].read(data, 5))

    def _encode(self, record: Record, body: dict[str, Any]) -> bytes:
        try:
            return self._framed(record, _mapping(record.name).to_record(body))
        except MisfitError as error:
            raise FormatError(DlqReason.INVALID_EVENT, f"{record.name}: {error}") from None

    def _framed(self, record: Record, value: Any) -> bytes:
        buffer = BytesIO()
        if self._resolver is None:
            buffer.write(SINGLE_OBJECT_MAGIC + record.fingerprint)
        else:
            buffer.write(CONFLUENT_MAGIC + self._id(record, self._resolver).to_bytes(4, "big"))
        try:
            schemaless_writer(buffer, record.parsed, value)
        except UnicodeEncodeError as error:
            raise FormatError(DlqReason.INVALID_JSON, f"not valid Unicode: {error}") from None
        return buffer.getvalue()

    def _id(self, record: Record, resolver: SchemaResolver) -> int:
        if record.name not in self._ids:
            self._ids[record.name] = resolver.schema_id(record.name, record.text)
        return self._ids[record.name]

    def _decode(self, data: bytes) -> tuple[Record, dict[str, Any]]:
        writer, start = self._writer(data)
        reader = records.current()[writer.name]
        stream = BytesIO(data)
        stream.seek(start)
        try:
            if reader.fingerprint == writer.fingerprint:
                value = schemaless_reader(stream, writer.parsed, None)
            else:
                value = schemaless_reader(stream, writer.parsed, reader.parsed)
        except Exception as error:  # fastavro: EOFError, IndexError, UnicodeDecodeError, OverflowError ...
            detail = f"{type(error).__name__}: {error}".rstrip(": ")
            raise FormatError(DlqReason.INVALID_AVRO, f"not a {writer.name} record: {detail}") from None
        left = len(data) - stream.tell()
        if left:
            raise FormatError(DlqReason.INVALID_AVRO, f"{left} bytes follow the {writer.name} record")
        return reader, _mapping(reader.name).from_record(value)

    def _writer(self, data: bytes) -> tuple[Record, int]:
        """The schema that wrote `data`, and where the record begins."""
        if data.startswith(SINGLE_OBJECT_MAGIC) and len(data) >= 10:
            record = records.by_fingerprint().get(data[2:10])
            if record is None:
                raise FormatError(
                    DlqReason.UNKNOWN_SCHEMA,
                    f"Avro fingerprint {data[2:10].hex()} is none of this version's schemas: "
                    "upgrade readers before writers, or use a schema registry",
                )
            return record, 10
        if data.startswith(CONFLUENT_MAGIC) and len(data) >= 5:
            return self._registered_record(int.from_bytes(data[1:5], "big")), 5
        raise FormatError(
            DlqReason.INVALID_AVRO,
            f"expected Avro: 00 and a schema id, or C3 01 and a fingerprint; got {data[:10].hex(' ') or 'nothing'}",
        )

    def _registered_record(self, schema_id: int) -> Record:
        if schema_id not in self._registered:
            self._registered[schema_id] = self._read_with(schema_id, records.foreign)
        return self._registered[schema_id]

    def _read_with(self, schema_id: int, make: Callable[[str], Made]) -> Made:
        if self._resolver is None:
            raise FormatError(
                DlqReason.UNKNOWN_SCHEMA, f"schema id {schema_id}: no schema registry is set; set one to read it"
            )
        text = self._resolver.schema(schema_id)
        if text is None:
            raise FormatError(DlqReason.UNKNOWN_SCHEMA, f"schema id {schema_id}: the schema registry does not know it")
        try:
            return make(text)
        except records.WriterSchemaError as error:
            raise FormatError(DlqReason.INVALID_AVRO, f"schema id {schema_id} is not read: {error}") from None


@cache
def _mapping(name: str) -> Mapping:
    return Mapping(records.current()[name].schema)


def _object(data: bytes) -> dict[str, Any]:
    """A JSON object, its numbers exact."""
    try:
        value = jsonio.loads(data)
    except jsonio.JsonError as error:
        raise FormatError(error.reason, str(error)) from None
    if not isinstance(value, dict):
        raise FormatError(DlqReason.INVALID_EVENT, f"expected a JSON object, got {kind_of(value)}")
    body: dict[str, Any] = jsonio.loads_exact(data, value)
    return body
