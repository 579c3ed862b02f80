"""What the router makes of CloudEvents, Avro and events beyond a limit, from outside."""

import json
from typing import Any

import pytest

from parkway.router.admission import Admitted, RefusedError, admit
from parkway.runtime.codec import EventCodec
from parkway.runtime.records import Incoming
from parkway.schemas.avro import AvroCodec
from parkway.schemas.errors import DlqReason
from parkway.schemas.plan import ActionPlan, Plan

PLAN = Plan(agent="a:A", actions=(ActionPlan(name="one", triggers=("order",)),), accepts=("order",))
CODEC = EventCodec(AvroCodec())
BODY = {"id": "o-1", "type": "order", "attributes": {"number": 1}}
CLOUD = {"specversion": "1.0", "id": "o-1", "source": "/shop", "type": "order", "data": {"number": 1}}
BINARY = {"ce_specversion": b"1.0", "ce_id": b"o-1", "ce_type": b"order", "ce_source": b"/shop"}


def take(value: bytes, given: dict[str, bytes] | None = None, plan: Plan = PLAN) -> Admitted:
    return admit(Incoming("parkway.requests", 0, 7, 1000, None, value, list((given or {}).items())), plan, CODEC)


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (json.dumps(BODY).encode(), {}),
        (json.dumps(CLOUD).encode(), {}),
        (json.dumps(CLOUD).encode(), {"content-type": b"application/cloudevents+json"}),
        (b'{"number":1}', BINARY),
        (AvroCodec().encode_event(json.dumps(BODY).encode()), {}),
        (AvroCodec().encode_event(json.dumps(BODY).encode()), {"content-type": b"application/vnd.parkway.event+avro"}),
    ],
)
def test_every_format_becomes_our_envelope(value, given):
    admitted = take(value, given)
    for event in (dict(admitted.event), json.loads(admitted.value)):
        event.pop("attachments", None)
        assert event == BODY
    made = dict(admitted.headers)
    assert made["content-type"] == b"application/vnd.parkway.event+json"
    assert made["parkway-type"] == b"order"
    assert made["parkway-root-id"] == b"o-1"
    assert not any(name.startswith("ce_") for name in made)


def test_numbers_are_not_changed_by_a_change_of_format():
    number = b"0.10000000000000000000001"
    for value, given in (
        (json.dumps(CLOUD).encode().replace(b'"number": 1', b'"number": ' + number), {}),
        (b'{"number":' + number + b"}", BINARY),
        (AvroCodec().encode_event(json.dumps(BODY).encode().replace(b'"number": 1', b'"number": ' + number)), {}),
    ):
        assert b'"number":' + number in take(value, given).value


def test_forged_lineage_is_dropped_in_avro_too():
    forged: dict[str, Any] = {**BODY, "upstreamEventId": "x", "upstreamActionName": "y"}
    admitted = take(AvroCodec().encode_event(json.dumps(forged).encode()))
    assert b"upstream" not in admitted.value


LOW = PLAN.model_copy(
    update={"max_event_bytes": 1000, "max_string_chars": 100, "max_members": 10, "max_event_depth": 5}
)


@pytest.mark.parametrize(
    ("value", "given", "reason", "message"),
    [
        (b"\xc3\x01xxxxxxxx", {}, DlqReason.UNKNOWN_SCHEMA, "fingerprint 7878"),
        (b"\x00\x00\x00\x00\x09", {}, DlqReason.UNKNOWN_SCHEMA, "schema id 9"),
        (b"{}", {"content-type": b"avro/binary"}, DlqReason.INVALID_AVRO, "expected Avro"),
        (b"{}", {"content-type": b"application/cloudevents+json"}, DlqReason.INVALID_EVENT, "specversion"),
        (b"{}", {"content-type": b"application/xml"}, DlqReason.UNSUPPORTED_CONTENT_TYPE, "application/xml"),
        (b"{}", {**BINARY, "ce_id": b"a/b"}, DlqReason.BAD_ID, "a/b"),
        (b'{"number":1}', {**BINARY, "ce_type": b"_tool_response_event"}, DlqReason.FORBIDDEN_TYPE, "tool_response"),
        (b" " * 1001, {}, DlqReason.TOO_LARGE, "max_event_bytes"),
        (b'{"type":"order","attributes":{"a":[[[[]]]]}}', {}, DlqReason.TOO_DEEP, "max_event_depth"),
        (b'{"type":"order","attributes":{"a":"' + b"x" * 101 + b'"}}', {}, DlqReason.TOO_LARGE, "max_string_chars"),
        (b'{"type":"order","attributes":{"a":[' + b"1," * 10 + b"1]}}", {}, DlqReason.TOO_LARGE, "max_members"),
        (
            AvroCodec().encode_event(b'{"type":"order","attributes":{"a":"' + b"x" * 980 + b'"}}')[:1000],
            {},
            DlqReason.INVALID_AVRO,
            "not a parkway.GenericEvent record",
        ),
        (
            AvroCodec().encode_event(b'{"type":"order","attributes":{"a":"' + b"x" * 950 + b'"}}'),
            {},
            DlqReason.TOO_LARGE,
            "max_event_bytes|max_string_chars",
        ),
    ],
)
def test_bad_ones_are_refused_with_their_reason(value, given, reason, message):
    with pytest.raises(RefusedError, match=message) as failure:
        take(value, given, LOW)
    assert failure.value.reason is reason
