"""Avro: nothing is lost on the way, both framings are read, and bytes that are none raise one error class."""

import json
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import fastavro
import pytest
from fastavro.schema import fingerprint
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from parkway.runtime.schema_registry import SchemaRegistry
from parkway.schemas.avro import AvroCodec, records
from parkway.schemas.avro.codec import RegistryUnavailableError
from parkway.schemas.errors import DlqReason, ParkwayError
from parkway.schemas.event_types import BUILT_IN_TYPES, EventType
from parkway.schemas.events import ChatMessage, ChatRequestEvent, Event, InputEvent
from parkway.schemas.format_error import FormatError
from parkway.schemas.parked import Origin, ParkedRecord

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = sorted(GOLDEN.glob("*.json"))
FORMS_OF_OTHERS = {"own_event", "chat_request.blocks", "tool_request.flat"}

CODEC = AvroCodec()


def writer_of(data: bytes) -> str:
    return records.by_fingerprint()[data[2:10]].name


def round_trip(body: Any, codec: AvroCodec = CODEC) -> Any:
    return json.loads(codec.decode_event(codec.encode_event(json.dumps(body).encode())))


def strict(value: Any) -> str:
    """JSON that tells 1 from 1.0 and true, whatever the order of members."""
    return json.dumps(value, sort_keys=True)


def outcome(call: Callable[[bytes], bytes], data: bytes) -> bytes | FormatError:
    """What a decoder gives, or the one error that it may raise."""
    try:
        return call(data)
    except FormatError as error:
        return error


def test_fingerprint_is_the_one_of_the_specification():
    assert fingerprint('"int"', "CRC-64-AVRO") == (0x7275D51A3F395C8F).to_bytes(8, "little").hex()
    record = records.current()["parkway.InputEvent"]
    assert CODEC.encode_event(InputEvent(input=1).to_json())[:10] == b"\xc3\x01" + record.fingerprint


def test_every_built_in_event_has_its_record_and_there_is_one_for_the_others():
    assert records.by_event_type().keys() == BUILT_IN_TYPES
    assert records.current().keys() - {record.name for record in records.by_event_type().values()} == {
        records.GENERIC,
        records.PARKED,
    }
    for constant, event_type in EventType.names().items():
        assert records.by_event_type()[event_type].name == f"parkway.{constant}"


def test_records_of_one_name_are_the_same_in_every_file():
    """Files stand alone (a registry takes one at a time), so shared records are repeated in them."""
    found: dict[str, str] = {}

    def collect(schema: Any) -> None:
        if isinstance(schema, dict) and schema.get("type") == "record":
            text = json.dumps(schema, sort_keys=True)
            assert found.setdefault(schema["name"], text) == text
            for field in schema["fields"]:
                collect(field["type"])
        elif isinstance(schema, dict):
            collect(schema.get("items") or schema.get("values"))
        elif isinstance(schema, list):
            for branch in schema:
                collect(branch)

    for record in records.current().values():
        collect(record.schema)
    assert {"ChatMessage", "ToolCall", "ErrorInfo"} <= found.keys()


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_events_are_written_with_their_own_record(file):
    data = CODEC.encode_event(file.read_bytes())
    own = writer_of(data) != records.GENERIC
    assert own == (file.stem not in FORMS_OF_OTHERS)


def test_avro_of_another_implementation_is_read():
    """A producer that knows only the .avsc: what it leaves out takes the schema's default and is absent."""
    schema = fastavro.parse_schema(json.loads(records.current()["parkway.ChatRequestEvent"].text))
    from io import BytesIO

    stream = BytesIO()
    attributes = {"model": "m", "messages": [{"content": "hi"}], "user_context": '{"n": 12345678901234567890123}'}
    fastavro.schemaless_writer(stream, schema, {"attributes": attributes})
    framed = b"\xc3\x01" + records.current()["parkway.ChatRequestEvent"].fingerprint + stream.getvalue()
    assert CODEC.decode_event(framed) == (
        b'{"attributes":{"model":"m","messages":[{"content":"hi"}],'
        b'"user_context":{"n":12345678901234567890123}},"type":"_chat_request_event"}'
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KNOWN = sorted(
    {name for file in FILES for name in json.loads(file.read_text("utf-8"))["attributes"]} | {"nulls", "more"}
)


@given(st.sampled_from([*sorted(BUILT_IN_TYPES), "ticket"]), st.dictionaries(st.sampled_from(KNOWN), json_values))
def test_any_attributes_of_any_type_come_back_equal(name, attributes):
    body = {"id": "1", "type": name, "attributes": attributes}
    assert strict(round_trip(body)) == strict(body)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every map or list in a JSON value with each of its keys."""
    here = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    return [(value, key) for key, _ in here] + [place for _, item in here for place in places(item)]


@given(st.data(), st.sampled_from(FILES), json_values)
def test_any_value_in_any_place_of_a_known_event_comes_back_equal(data, file, value):
    body = json.loads(file.read_text("utf-8"))
    inside, key = data.draw(st.sampled_from([place for place in places(body) if place[1] != "type"]))
    if isinstance(inside, dict) and data.draw(st.booleans()):
        del inside[key]
    else:
        inside[key] = value
    back = outcome(CODEC.encode_event, json.dumps(body).encode())
    if isinstance(back, FormatError):  # the envelope itself does not fit: an id that is a number ...
        assert back.reason is DlqReason.INVALID_EVENT
        with pytest.raises(ValueError, match=r"^(id|attachments|upstream\w+|attributes): expected"):
            Event.from_json(json.dumps(body))
        return
    assert json.loads(CODEC.decode_event(back)) == body


PLACES_OF_NUMBERS = [
    '{"type":"t","attributes":{"a":NUMBER}}',
    '{"type":"_input_event","attributes":{"input":NUMBER}}',
    '{"type":"_chat_response_event","attributes":{"request_id":"r","response":null,"retry_count":NUMBER}}',
    '{"type":"_chat_response_event","attributes":{"request_id":"r","response":null,"total_retry_wait_sec":NUMBER}}',
    (
        '{"type":"_context_retrieval_response_event","attributes":{"documents":[{"score":NUMBER,"embedding":[NUMBER],'
        '"content":"c"}],"request_id":"r","query":"q"}}'
    ),
]


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
@example("-0")
@example("1E5")
@example("0.10000000000000000000001")
@example("1e-4000")
def test_no_number_changes_wherever_it_stands(number):
    for place in PLACES_OF_NUMBERS:
        back = CODEC.decode_event(CODEC.encode_event(place.replace("NUMBER", number).encode()))
        numbers: list[str] = []
        json.loads(back, parse_float=numbers.append, parse_int=numbers.append)
        assert numbers
        assert {Fraction(each) for each in numbers} == {Fraction(number)}
        assert {each.startswith("-") for each in numbers} == {number.startswith("-")}


def test_exponent_beyond_all_limits_is_kept_as_it_came():
    body = b'{"type":"t","attributes":{"a":1e-99999999999999999999}}'
    assert CODEC.decode_event(CODEC.encode_event(body)) == body


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", DlqReason.INVALID_JSON),
        (b"[]", DlqReason.INVALID_EVENT),
        (b"{}", DlqReason.INVALID_EVENT),
        (b'{"type":1}', DlqReason.INVALID_EVENT),
        (b'{"type":"t","id":1}', DlqReason.INVALID_EVENT),
        (b'{"type":"t","colour":1}', DlqReason.INVALID_EVENT),
        (b'{"type":"t","attributes":' + b'{"a":' * 200 + b"1" + b"}" * 201, DlqReason.TOO_DEEP),
    ],
)
def test_json_that_is_no_event_is_not_encoded(body, reason):
    with pytest.raises(FormatError) as failure:
        CODEC.encode_event(body)
    assert failure.value.reason is reason


@pytest.mark.parametrize(
    ("data", "reason", "message"),
    [
        (b"", DlqReason.INVALID_AVRO, "got nothing"),
        (b"{}", DlqReason.INVALID_AVRO, "got 7b 7d"),
        (b"\xc3\x01abcdefgh", DlqReason.UNKNOWN_SCHEMA, "6162636465666768"),
        (b"\xc3\x01abc", DlqReason.INVALID_AVRO, "expected Avro"),
        (b"\x00\x00\x00\x00\x07x", DlqReason.UNKNOWN_SCHEMA, "schema id 7: no schema registry"),
        (b"\x00\x00\x00", DlqReason.INVALID_AVRO, "expected Avro"),
    ],
)
def test_bytes_without_a_known_schema_are_refused(data, reason, message):
    with pytest.raises(FormatError, match=message) as failure:
        CODEC.decode_event(data)
    assert failure.value.reason is reason


def test_broken_bytes_of_a_known_schema_are_refused():
    data = CODEC.encode_event((GOLDEN / "chat_response.user_context.json").read_bytes())
    for cut in range(10, len(data)):
        with pytest.raises(FormatError) as failure:
            CODEC.decode_event(data[:cut])
        assert failure.value.reason in {DlqReason.INVALID_AVRO, DlqReason.INVALID_JSON}
    with pytest.raises(FormatError, match="1 bytes follow"):
        CODEC.decode_event(data + b"x")


def test_text_that_should_be_json_is_checked():
    head = b"\xc3\x01" + records.current()["parkway.InputEvent"].fingerprint + b"\x00"
    tail = b"\x00\x00\x00\x00\x00"

    def text(value: str) -> bytes:
        return head + bytes([2 * len(value)]) + value.encode() + tail

    assert json.loads(CODEC.decode_event(text('{"a":1}'))) == {
        "type": "_input_event",
        "attributes": {"input": {"a": 1}},
    }
    for broken in ('1},"type":"forged"', "", "NaN", '{"a":1} '[:-2]):
        with pytest.raises(FormatError) as failure:
            CODEC.decode_event(text(broken))
        assert failure.value.reason is DlqReason.INVALID_JSON


fingerprints = st.sampled_from([record.fingerprint for record in records.current().values()])
framed = st.builds(lambda mark, body: b"\xc3\x01" + mark + body, fingerprints, st.binary(max_size=200))


@given(st.binary(max_size=40) | framed | st.binary(max_size=40).map(lambda body: b"\x00\x00\x00\x00\x01" + body))
@settings(max_examples=500)
def test_any_bytes_raise_nothing_but_the_one_error_class(data):
    for decode in (CODEC.decode_event, CODEC.decode_parked):
        read = outcome(decode, data)
        assert str(read) if isinstance(read, FormatError) else isinstance(json.loads(read), dict)


@given(st.data(), st.sampled_from(FILES))
def test_damaged_events_raise_nothing_but_the_one_error_class(data, file):
    body = bytearray(CODEC.encode_event(file.read_bytes()))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    read = outcome(CODEC.decode_event, bytes(body))
    assert str(read) if isinstance(read, FormatError) else isinstance(json.loads(read), dict)


def test_hostile_lengths_and_counts_cost_milliseconds():
    huge = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"
    for name in records.current():
        head = b"\xc3\x01" + records.current()[name].fingerprint
        for body in (huge * 20, b"\x02" + huge * 20, b"\x00" + huge * 20, b"\x02" * 40 + huge):
            started = time.process_time()
            with pytest.raises(FormatError):
                CODEC.decode_event(head + body)
            assert time.process_time() - started < 1.0


def parked_record(**changes: Any) -> ParkedRecord:
    request = ChatRequestEvent(model="m", messages=[ChatMessage.user("hi")], user_context={"a": 1})
    values: dict[str, Any] = {
        "build": "b",
        "action": "chat",
        "record_key": None,
        "origin": Origin(topic="t", partition=1, offset=2, headers={"traceparent": "00"}, external=True),
        "request": request.to_dict(),
        "request_hash": "h",
        "round": 1,
        "waits_for": "x",
        "pending_calls": ("1", "2"),
        "deadline": 5,
        "state": {"conversation": [{"role": "user"}], "n": 0.5},
        **changes,
    }
    return ParkedRecord(**values)


def test_parked_record_comes_back_equal():
    for record in (parked_record(), parked_record(record_key="a2V5", state={}, pending_calls=())):
        data = CODEC.encode_parked(record.to_json())
        assert writer_of(data) == records.PARKED
        assert json.loads(CODEC.decode_parked(data)) == json.loads(record.to_json())
        assert ParkedRecord.from_json(CODEC.decode_parked(data)) == record


def test_parked_record_keeps_fields_that_the_schema_does_not_name():
    body = json.loads(parked_record().to_json())
    body["later"] = {"a": [1.5]}
    body["origin"]["later"] = None
    assert json.loads(CODEC.decode_parked(CODEC.encode_parked(json.dumps(body).encode()))) == body


def test_event_and_parked_record_are_not_taken_for_each_other():
    with pytest.raises(FormatError, match="expected an event"):
        CODEC.decode_event(CODEC.encode_parked(parked_record().to_json()))
    with pytest.raises(FormatError, match=r"expected a parked record, this is parkway\.InputEvent"):
        CODEC.decode_parked(CODEC.encode_event(InputEvent(input=1).to_json()))
    with pytest.raises(FormatError, match=r"parkway.ParkedRecord: record: expected a member 'v'"):
        CODEC.encode_parked(b"{}")


# With a registry.


@pytest.fixture
def registry(registry_server):
    resolver = SchemaRegistry(registry_server.url, {"max.retries": 0})
    yield resolver
    resolver.close()


def test_confluent_wire_format_through_the_registry(registry, registry_server):
    codec = AvroCodec(registry)
    for file in FILES:
        data = codec.encode_event(file.read_bytes())
        schema_id = int.from_bytes(data[1:5], "big")
        assert data[0] == 0
        assert json.loads(registry_server.schemas[schema_id])["namespace"] == "parkway"
        assert json.loads(AvroCodec(registry).decode_event(data)) == json.loads(file.read_bytes())
    assert registry_server.subjects["parkway.ChatRequestEvent"] == [
        schema_id for schema_id, text in registry_server.schemas.items() if '"name": "ChatRequestEvent"' in text
    ]


def test_registry_is_asked_once_for_each_schema(registry, registry_server):
    codec = AvroCodec(registry)
    data = codec.encode_event(InputEvent(input=1).to_json())
    for _ in range(10):
        codec.encode_event(InputEvent(input=1).to_json())
        codec.decode_event(data)
        AvroCodec(registry).decode_event(data)
    assert len(registry_server.requests) <= 3  # look up, register, read


def test_who_may_only_read_can_write_what_is_registered(registry, registry_server):
    AvroCodec(registry).encode_event(InputEvent(input=1).to_json())
    registry_server.read_only = True
    other = SchemaRegistry(registry_server.url, {"max.retries": 0})
    AvroCodec(other).encode_event(InputEvent(input=1).to_json())
    with pytest.raises(RegistryUnavailableError, match=r"cannot register parkway\.GenericEvent: .*denied"):
        AvroCodec(other).encode_event(Event("t").to_json())


def test_both_framings_are_read_with_and_without_a_registry_of_the_writer(registry):
    single = CODEC.encode_event(InputEvent(id="1", input=1).to_json())
    confluent = AvroCodec(registry).encode_event(InputEvent(id="1", input=1).to_json())
    assert AvroCodec(registry).decode_event(single) == CODEC.decode_event(single)
    assert AvroCodec(registry).decode_event(confluent) == CODEC.decode_event(single)


def test_unknown_schema_id_is_refused_and_not_asked_for_again(registry, registry_server):
    codec = AvroCodec(registry)
    for _ in range(3):
        with pytest.raises(FormatError, match="schema id 77: the schema registry does not know it") as failure:
            codec.decode_event(b"\x00\x00\x00\x00\x4dxx")
        assert failure.value.reason is DlqReason.UNKNOWN_SCHEMA
    assert registry_server.requests == ["GET /schemas/ids/77"]


def test_registry_that_is_down_is_not_the_records_fault(registry, registry_server):
    registry_server.broken = True
    with pytest.raises(RegistryUnavailableError, match=r"127\.0\.0\.1.*cannot read schema 1: .*backend"):
        AvroCodec(registry).decode_event(b"\x00\x00\x00\x00\x01xx")
    registry_server.stop()
    with pytest.raises(RegistryUnavailableError, match="cannot register"):
        AvroCodec(registry).encode_event(InputEvent(input=1).to_json())
    assert not issubclass(RegistryUnavailableError, FormatError)


def test_schema_of_a_java_producer_is_resolved_to_ours(registry, registry_server):
    """Another version of the record: its strings marked, a field of its own, one of ours not there yet."""
    theirs = {
        "type": "record",
        "name": "InputEvent",
        "namespace": "parkway",
        "fields": [
            {"name": "id", "type": ["null", {"type": "string", "avro.java.string": "String"}], "default": None},
            {"name": "partner", "type": "string"},
            {
                "name": "attributes",
                "type": {
                    "type": "record",
                    "name": "InputAttributes",
                    "fields": [{"name": "input", "type": {"type": "string", "avro.java.string": "String"}}],
                },
            },
        ],
    }
    schema_id = registry_server.add(json.dumps(theirs))
    partner, text = b"\x06abc", b'\x0e{"a":1}'
    body = b"\x00" + schema_id.to_bytes(4, "big") + b"\x02\x023" + partner + text
    assert json.loads(AvroCodec(registry).decode_event(body)) == {
        "id": "3",
        "type": "_input_event",
        "attributes": {"input": {"a": 1}},
    }


def record_schema(fields: list[dict[str, Any]], name: str = "InputEvent") -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "parkway", "fields": fields})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('"string"', "it is no Avro record"),
        ("{", "it is no Avro record"),
        (record_schema([], "Order"), r"'parkway\.Order' is none of parkway\.Approval"),
        (record_schema([{"name": "a", "type": {"type": "array", "items": "null"}}]), "items of an array take no bytes"),
        (
            record_schema(
                [{"name": "a", "type": {"type": "array", "items": {"type": "record", "name": "E", "fields": []}}}]
            ),
            "items of an array take no bytes",
        ),
        (record_schema([{"name": "a", "type": ["null", "InputEvent"]}]), "contains itself"),
        (record_schema([{"name": "a", "type": "string"}]), "not a parkway.InputEvent record"),
    ],
)
def test_schema_that_is_none_of_ours_or_not_safe_is_refused(registry, registry_server, schema, message):
    schema_id = registry_server.add(schema)
    with pytest.raises(FormatError, match=message) as failure:
        AvroCodec(registry).decode_event(b"\x00" + schema_id.to_bytes(4, "big") + b"\x80\x80\x80\x80\x80\x02\x00")
    assert failure.value.reason is DlqReason.INVALID_AVRO


def test_registry_settings_that_cannot_be_used_are_named_without_the_password():
    with pytest.raises(ParkwayError, match=r"https://registry: Unrecognized properties: no\.such") as failure:
        SchemaRegistry("https://user:secret@registry", {"no.such": 1})
    assert "secret" not in str(failure.value)


@given(st.binary(max_size=60))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_behind_a_registered_schema_raise_the_one_error_class(registry, registry_server, data):
    schema_id = registry_server.add(records.current()["parkway.ToolResponseEvent"].text)
    read = outcome(AvroCodec(registry).decode_event, b"\x00" + schema_id.to_bytes(4, "big") + data)
    assert str(read) if isinstance(read, FormatError) else isinstance(json.loads(read), dict)
