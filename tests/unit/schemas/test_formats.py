"""Which format a record is in: `content-type` says so, and without one its first bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkway.schemas import formats
from parkway.schemas.avro import AvroCodec
from parkway.schemas.errors import DlqReason
from parkway.schemas.events import Event, InputEvent
from parkway.schemas.format_error import FormatError
from parkway.schemas.headers import AVRO_CONTENT, CLOUDEVENTS_CONTENT, JSON_CONTENT

CODEC = AvroCodec()
ENVELOPE = InputEvent(id="1", input=5).to_json()
CLOUD = json.dumps(
    {"specversion": "1.0", "id": "1", "type": "_input_event", "source": "/s", "data": {"input": 5}}
).encode()
BINARY = {"ce_specversion": b"1.0", "ce_id": b"1", "ce_type": b"_input_event", "ce_source": b"/s"}
AVRO = CODEC.encode_event(ENVELOPE)

READ = {
    "nothing said: envelope": (ENVELOPE, {}),
    "nothing said: cloud event": (CLOUD, {}),
    "nothing said: avro": (AVRO, {}),
    "envelope": (ENVELOPE, {"content-type": JSON_CONTENT}),
    "envelope with parameters": (ENVELOPE, {"content-type": b"Application/VND.parkway.event+json; charset=utf-8"}),
    "plain json: envelope": (ENVELOPE, {"content-type": b"application/json"}),
    "plain json: cloud event": (CLOUD, {"content-type": b"application/json"}),
    "structured": (CLOUD, {"content-type": CLOUDEVENTS_CONTENT + b"; charset=UTF-8"}),
    "binary": (b'{"input":5}', BINARY),
    "binary with a type": (b'{"input":5}', {**BINARY, "content-type": b"application/json"}),
    "avro": (AVRO, {"content-type": AVRO_CONTENT}),
    "avro by another name": (AVRO, {"content-type": b"avro/binary"}),
}


@pytest.mark.parametrize("form", READ)
def test_every_format_gives_the_same_event(form):
    value, given_headers = READ[form]
    assert Event.parse(formats.envelope(value, given_headers, CODEC)) == InputEvent(id="1", input=5)


def test_envelope_is_not_touched():
    for value in (ENVELOPE, b"{", b"", b"no json", b'{"a":{"specversion":1}}', b'{"specversion'):
        assert formats.envelope(value, {}, CODEC) is value


@pytest.mark.parametrize(
    ("value", "given_headers", "reason", "message"),
    [
        (
            ENVELOPE,
            {"content-type": b"text/plain"},
            DlqReason.UNSUPPORTED_CONTENT_TYPE,
            "'text/plain' is not read: send",
        ),
        (b"[]", {"content-type": b"application/cloudevents-batch+json"}, DlqReason.UNSUPPORTED_CONTENT_TYPE, "batch"),
        (AVRO, {"content-type": b"application/cloudevents+avro"}, DlqReason.UNSUPPORTED_CONTENT_TYPE, "avro"),
        (ENVELOPE, {"content-type": AVRO_CONTENT}, DlqReason.INVALID_AVRO, "expected Avro"),
        (ENVELOPE, {"content-type": CLOUDEVENTS_CONTENT}, DlqReason.INVALID_EVENT, "specversion None"),
        (AVRO, {"content-type": CLOUDEVENTS_CONTENT}, DlqReason.INVALID_JSON, "not JSON"),
        (b'{"type":"t","specversion":"1.0"}', {}, DlqReason.INVALID_EVENT, "CloudEvent: id"),
        (b"\x00\x00\x00\x00\x01", {}, DlqReason.UNKNOWN_SCHEMA, "schema id 1"),
    ],
)
def test_what_is_not_in_the_format_that_it_claims_is_refused(value, given_headers, reason, message):
    with pytest.raises(FormatError, match=message) as failure:
        formats.envelope(value, given_headers, CODEC)
    assert failure.value.reason is reason


def test_value_in_avro_that_says_json_is_no_json():
    with pytest.raises(ValueError, match="not JSON"):
        Event.parse(formats.envelope(AVRO, {"content-type": JSON_CONTENT}, CODEC))


content_types = (
    st.sampled_from([JSON_CONTENT, AVRO_CONTENT, CLOUDEVENTS_CONTENT, b"application/json", b""]) | st.binary()
)


@given(
    st.binary() | st.sampled_from([ENVELOPE, CLOUD, AVRO]),
    st.fixed_dictionaries({}, optional={"content-type": content_types, **{name: st.binary() for name in BINARY}}),
)
def test_any_record_raises_nothing_but_the_one_error_class(value, given_headers):
    try:
        read = formats.envelope(value, given_headers, CODEC)
    except FormatError as error:
        assert error.reason in DlqReason  # noqa: PT017
        return
    assert isinstance(read, bytes)
