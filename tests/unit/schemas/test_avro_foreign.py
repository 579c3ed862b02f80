"""Avro of other people's schemas becomes JSON, with logical types as JSON values, and nothing takes a reader down."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from io import BytesIO
from uuid import UUID

import pytest
from fastavro import schemaless_writer
from fastavro.schema import parse_schema

from parkway.runtime.schema_registry import SchemaRegistry
from parkway.schemas.avro import AvroCodec
from parkway.schemas.errors import DlqReason
from parkway.schemas.format_error import FormatError

NONE = ["null", "string"]


def record(*fields, name="Order", **more):
    return {"type": "record", "name": name, "namespace": "shop", "fields": list(fields), **more}


def field(name, kind):
    return {"name": name, "type": kind}


def logical(kind, logical_type, **more):
    return {"type": kind, "logicalType": logical_type, **more}


@pytest.fixture
def codec(registry_server):
    resolver = SchemaRegistry(registry_server.url, {"max.retries": 0})
    yield AvroCodec(resolver)
    resolver.close()


@pytest.fixture
def written(registry_server):
    """Register a schema and write a value with fastavro's own writer: bytes in Confluent's framing."""

    def write(schema, value, raw=None):
        schema_id = registry_server.add(json.dumps(schema))
        buffer = BytesIO()
        if raw is None:
            schemaless_writer(buffer, parse_schema(schema), value)
        return b"\x00" + schema_id.to_bytes(4, "big") + (buffer.getvalue() if raw is None else raw)

    return write


def test_every_type_has_a_json_form(codec, written):
    schema = record(
        field("text", "string"),
        field("flag", "boolean"),
        field("whole", "long"),
        field("double", "double"),
        field("nothing", NONE),
        field("something", NONE),
        field("bytes", "bytes"),
        field("fixed", {"type": "fixed", "name": "Four", "size": 4}),
        field("enum", {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}),
        field("lines", {"type": "array", "items": record(field("sku", "string"), name="Line")}),
        field("labels", {"type": "map", "values": "int"}),
        field("first", "shop.Line"),
    )
    value = {
        "text": "ä",
        "flag": True,
        "whole": 2**62,
        "double": 0.5,
        "nothing": None,
        "something": "x",
        "bytes": b"\xff\x00",
        "fixed": b"abcd",
        "enum": "PAID",
        "lines": [{"sku": "a"}, {"sku": "b"}],
        "labels": {"n": 1},
        "first": {"sku": "c"},
    }
    read = json.loads(codec.decode_foreign(written(schema, value)))
    assert read == {**value, "bytes": "/wA=", "fixed": "YWJjZA=="}


def test_logical_types_become_json_values(codec, written):
    schema = record(
        field("price", logical("bytes", "decimal", precision=20, scale=2)),
        field("debt", logical("fixed", "decimal", precision=20, scale=3, name="D", size=9)),
        field("day", logical("int", "date")),
        field("at", logical("int", "time-millis")),
        field("at_micros", logical("long", "time-micros")),
        field("millis", logical("long", "timestamp-millis")),
        field("micros", logical("long", "timestamp-micros")),
        field("local", logical("long", "local-timestamp-millis")),
        field("uuid", logical("string", "uuid")),
        field("maybe", ["null", logical("long", "timestamp-millis")]),
        field("either", [logical("int", "date"), logical("long", "timestamp-millis")]),
    )
    moment = datetime(2026, 5, 1, 12, 30, 0, 5000, UTC)
    value = {
        "price": Decimal("123456789012345678.50"),
        "debt": Decimal("-0.125"),
        "day": date(2026, 5, 1),
        "at": time(1, 2, 3),
        "at_micros": time(1, 2, 3, 4),
        "millis": moment,
        "micros": moment,
        "local": moment.replace(tzinfo=None),
        "uuid": UUID(int=1),
        "maybe": None,
        "either": date(2026, 5, 1),
    }
    text = codec.decode_foreign(written(schema, value))
    assert b'"price":123456789012345678.50,' in text
    assert json.loads(text) | {"price": 0} == {
        "price": 0,
        "debt": -0.125,
        "day": "2026-05-01",
        "at": "01:02:03",
        "at_micros": "01:02:03.000004",
        "millis": "2026-05-01T12:30:00.005Z",
        "micros": "2026-05-01T12:30:00.005000Z",
        "local": "2026-05-01T12:30:00.005",
        "uuid": "00000000-0000-0000-0000-000000000001",
        "maybe": None,
        "either": "2026-05-01",
    }


def test_what_fastavro_has_no_reader_for(codec, written):
    schema = record(
        field("nanos", logical("long", "timestamp-nanos")),
        field("wait", logical("fixed", "duration", name="Wait", size=12)),
        field("id", logical("fixed", "uuid", name="Id", size=16)),
        field("odd", logical("string", "of-their-own")),
    )
    raw = b"\x02" + bytes([1, 0, 0, 0, 2, 0, 0, 0, 0xDC, 5, 0, 0]) + bytes(15) + b"\x07" + b"\x02x"
    assert json.loads(codec.decode_foreign(written(schema, None, raw))) == {
        "nanos": "1970-01-01T00:00:00.000000001Z",
        "wait": "P1M2DT1.500S",
        "id": "00000000-0000-0000-0000-000000000007",
        "odd": "x",
    }


def test_times_before_1970_are_read(codec, written):
    schema = record(field("at", logical("long", "timestamp-millis")))
    value = {"at": datetime(1969, 12, 31, 23, 59, 59, 500000, UTC)}
    assert json.loads(codec.decode_foreign(written(schema, value))) == {"at": "1969-12-31T23:59:59.500Z"}


@pytest.mark.parametrize(
    ("schema", "raw", "message"),
    [
        (record(field("a", "double")), b"\x00\x00\x00\x00\x00\x00\xf8\x7f", "nan is not a JSON number"),
        (record(field("a", "string")), b"\x08ab", "not a shop.Order"),
        (record(field("a", "string")), b"\x02ab", "1 bytes follow the shop.Order"),
        (record(field("a", logical("long", "timestamp-millis"))), b"\xfe" * 8 + b"\xff\x01", "not a shop.Order"),
        (record(field("a", logical("bytes", "decimal", precision=4))), b"\x82\x02" + bytes(129), "limit is 128"),
        (record(field("a", ["null", "Order"])), b"\x00", "contains itself"),
        (record(field("a", {"type": "array", "items": "null"})), b"\x00", "items of an array take no bytes"),
        ({"type": "nonsense"}, b"\x00", "it is no Avro schema"),
    ],
)
def test_what_is_not_read_is_refused_with_the_reason(codec, written, schema, raw, message):
    with pytest.raises(FormatError, match=message) as failure:
        codec.decode_foreign(written(schema, None, raw))
    assert failure.value.reason is DlqReason.INVALID_AVRO


def test_a_value_without_a_schema_id_and_an_unknown_id_are_refused(codec):
    with pytest.raises(FormatError, match="expected Avro in Confluent's framing"):
        codec.decode_foreign(b'{"a": 1}')
    with pytest.raises(FormatError, match="schema id 99") as failure:
        codec.decode_foreign(b"\x00\x00\x00\x00\x63xx")
    assert failure.value.reason is DlqReason.UNKNOWN_SCHEMA


def test_a_schema_that_refers_to_other_subjects(codec, registry_server):
    """As several event types in one topic do, and shared types; by full name and by one in the own namespace."""
    city = json.dumps(record(field("name", "string"), name="City"))
    address = json.dumps(record(field("city", "City"), field("born_in", ["null", "shop.City"]), name="Address"))
    person = {**record(field("home", "shop.Address"), field("work", ["null", "shop.Address"])), "namespace": "people"}
    registry_server.add(city)
    registry_server.add(address, ("shop.City", city))
    schema_id = registry_server.add(json.dumps(person), ("shop.Address", address))
    raw = b"\x06Ulm" + b"\x00" + b"\x02" + b"\x04Au" + b"\x02" + b"\x06Ulm"
    data = b"\x00" + schema_id.to_bytes(4, "big") + raw
    assert json.loads(codec.decode_foreign(data)) == {
        "home": {"city": {"name": "Ulm"}, "born_in": None},
        "work": {"city": {"name": "Au"}, "born_in": {"name": "Ulm"}},
    }


def test_a_schema_that_refers_to_one_that_is_gone_is_refused(codec, registry_server):
    schema = json.dumps(record(field("home", "shop.Address")))
    schema_id = registry_server.add(schema, ("shop.Address", "{}"))
    registry_server.subjects.clear()
    with pytest.raises(FormatError, match=r"it is no Avro schema: .*shop\.Address") as failure:
        codec.decode_foreign(b"\x00" + schema_id.to_bytes(4, "big") + b"\x00")
    assert failure.value.reason is DlqReason.INVALID_AVRO
