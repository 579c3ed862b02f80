"""CloudEvents in and out, structured and binary."""

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parkway.schemas import cloudevents, headers, jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.events import Event, InputEvent
from parkway.schemas.format_error import FormatError

CONTEXT = {"specversion": "1.0", "source": "/shop/orders", "subject": "7", "time": "2026-01-02T03:04:05Z"}
STRUCTURED: dict[str, Any] = {**CONTEXT, "id": "e-1", "type": "order", "data": {"number": 1}, "priority": 3}
BINARY = {f"ce_{name}": value.encode() for name, value in {**CONTEXT, "id": "e-1", "type": "order"}.items()}
EVENT = {
    "id": "e-1",
    "type": "order",
    "attributes": {"number": 1},
    "attachments": {"cloudevents": CONTEXT},
}


def structured(**changes: Any) -> bytes:
    body = {**STRUCTURED, **changes}
    return json.dumps({name: value for name, value in body.items() if value is not ...}).encode()


def test_structured_event_is_read():
    expected = {**EVENT, "attachments": {"cloudevents": {**CONTEXT, "priority": 3}}}
    assert cloudevents.read_structured(structured()) == expected
    event = Event.parse(cloudevents.read_structured(structured()))
    assert (event.id, event.type, event.attributes) == ("e-1", "order", {"number": 1})


def test_binary_event_is_read():
    for content_type in (b"application/json", b"application/json; charset=utf-8", b"application/order+json", b""):
        given_headers = {**BINARY, "content-type": content_type, "traceparent": b"00"}
        assert cloudevents.read_binary(b'{"number":1}', given_headers) == EVENT
    assert cloudevents.read_binary(b'{"number":1}', BINARY) == EVENT


@pytest.mark.parametrize("empty", [{"data": ...}, {"data": None}])
def test_event_without_data_has_no_attributes(empty):
    assert cloudevents.read_structured(structured(**empty))["attributes"] == {}
    assert cloudevents.read_binary(None, BINARY)["attributes"] == {}
    assert cloudevents.read_binary(b"", BINARY)["attributes"] == {}


def test_data_in_base64_is_read():
    encoded = base64.b64encode(b'{"n":1E5}').decode()
    event = cloudevents.read_structured(structured(data=..., data_base64=encoded))
    assert jsonio.dumps(event["attributes"]) == b'{"n":1E5}'


def test_numbers_come_through_as_they_were_written():
    numbers = b'{"a":12345678901234567890123,"b":0.10000000000000000000001,"c":1E5}'
    value = structured().replace(b'{"number": 1}', numbers)
    assert jsonio.dumps(cloudevents.read_structured(value)["attributes"]) == numbers
    assert jsonio.dumps(cloudevents.read_binary(numbers, BINARY)["attributes"]) == numbers


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"specversion": "0.3"}, "specversion '0.3': send '1.0'"),
        ({"specversion": ...}, "specversion None"),
        ({"specversion": 1.0}, "specversion 1.0"),
        ({"id": ...}, "id: expected a string"),
        ({"id": ""}, "id: expected a string"),
        ({"id": 7}, "id: .* got 7"),
        ({"type": ...}, "type: expected a string"),
        ({"source": ...}, "source: expected a string"),
        ({"data": [1]}, r"data: expected a JSON object \(the attributes\), got an array"),
        ({"data": "text"}, "data: expected a JSON object"),
        ({"data_base64": "e30="}, "data and data_base64: give one"),
        ({"data": ..., "data_base64": "%%"}, "data_base64: it is no base64"),
        ({"data": ..., "data_base64": 5}, "data_base64: it is no base64"),
        ({"data": ..., "data_base64": "WzFd"}, r"the data of a CloudEvent: expected a JSON object, got an array"),
        ({"extension": {"a": 1}}, "'extension': expected a text, number or flag"),
    ],
)
def test_structured_event_that_is_none_is_refused_with_the_place(changes, message):
    with pytest.raises(FormatError, match=message) as failure:
        cloudevents.read_structured(structured(**changes))
    assert failure.value.reason is DlqReason.INVALID_EVENT


@pytest.mark.parametrize(
    ("value", "changes", "reason", "message"),
    [
        (b"[1]", {}, DlqReason.INVALID_EVENT, "expected a JSON object"),
        (b"{", {}, DlqReason.INVALID_JSON, "the data of a CloudEvent: not JSON"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, {}, DlqReason.TOO_DEEP, "nested deeper"),
        (b"<a/>", {"content-type": b"text/xml"}, DlqReason.UNSUPPORTED_CONTENT_TYPE, "'text/xml'"),
        (b"{}", {"ce_subject": b"\xff"}, DlqReason.INVALID_HEADER, "header ce_subject"),
        (b"{}", {"ce_specversion": b"2"}, DlqReason.INVALID_EVENT, "specversion '2'"),
        (b"{}", {"ce_id": b""}, DlqReason.INVALID_EVENT, "id: expected"),
    ],
)
def test_binary_event_that_is_none_is_refused_with_the_place(value, changes, reason, message):
    with pytest.raises(FormatError, match=message) as failure:
        cloudevents.read_binary(value, {**BINARY, **changes})
    assert failure.value.reason is reason


def test_event_is_written_structured():
    value, made = cloudevents.write_structured(InputEvent(id="1", input={"a": 1}), "/parkway")
    assert made == [("content-type", b"application/cloudevents+json")]
    assert json.loads(value) == {
        "specversion": "1.0",
        "source": "/parkway",
        "id": "1",
        "type": "_input_event",
        "data": {"input": {"a": 1}},
    }


def test_event_is_written_binary():
    value, made = cloudevents.write_binary(Event("ticket", {"a": "é"}, id="1"), "/parkway")
    assert made == [
        ("content-type", b"application/json"),
        ("ce_specversion", b"1.0"),
        ("ce_source", b"/parkway"),
        ("ce_id", b"1"),
        ("ce_type", b"ticket"),
    ]
    assert json.loads(value) == {"a": "é"}


def test_source_is_needed_and_a_given_one_wins():
    with pytest.raises(FormatError, match="source: say who sends it"):
        cloudevents.write_structured(Event("t"))
    came = Event.parse(EVENT)
    assert json.loads(cloudevents.write_structured(came)[0])["source"] == "/shop/orders"
    assert json.loads(cloudevents.write_structured(came, "/me")[0])["source"] == "/me"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.text(min_size=1), st.text(min_size=1), st.dictionaries(st.text(), json_values))
def test_event_comes_back_equal_in_both_modes(event_id, name, attributes):
    event = Event(name, attributes, id=event_id)
    value, _ = cloudevents.write_structured(event, "/parkway")
    assert Event.from_json(jsonio.dumps(cloudevents.read_structured(value))) == event
    value, made = cloudevents.write_binary(event, "/parkway")
    assert Event.from_json(jsonio.dumps(cloudevents.read_binary(value, headers.as_dict(made)))) == event


def test_cloud_event_comes_back_equal():
    value, _ = cloudevents.write_structured(Event.parse(cloudevents.read_structured(structured())))
    assert json.loads(value) == STRUCTURED
    value, made = cloudevents.write_binary(Event.parse(cloudevents.read_binary(b'{"number":1}', BINARY)))
    assert headers.as_dict(made) == {**BINARY, "content-type": b"application/json"}
    assert value == b'{"number":1}'


near_events = st.fixed_dictionaries(
    {}, optional=dict.fromkeys([*STRUCTURED, "data_base64", "datacontenttype"], json_values)
).map(lambda body: json.dumps({"specversion": "1.0", **body}).encode())


@given(st.binary() | near_events, st.dictionaries(st.sampled_from([*BINARY, "content-type"]), st.binary()))
@example(b'{"specversion":"1.0","id":"1","type":"t","source":"s","data_base64":"\xc3\xa9"}', {})
@example(b"[" * 2000, {})
def test_any_bytes_raise_nothing_but_the_one_error_class(value, some_headers):
    for read in (
        lambda: cloudevents.read_structured(value),
        lambda: cloudevents.read_binary(value, {**BINARY, **some_headers}),
    ):
        try:
            event = read()
        except FormatError as error:
            assert str(error)  # noqa: PT017
            continue
        assert Event.from_json(jsonio.dumps(event)).type == event["type"]
