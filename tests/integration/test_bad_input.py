"""What producers send wrong ends in the DLQ or in a failed response, with a reason; nothing stops."""

import gzip
import json
from collections.abc import Callable
from typing import Any

from installation import Installation, Read, event

from parkway.schemas.avro import AvroCodec

BAD: dict[str, tuple[bytes, str]] = {
    "not-json": (b"\xff\xfe{", "invalid_json"),
    "empty": (b"", "invalid_json"),
    "nan": (b'{"type":"order","attributes":{"number":NaN}}', "invalid_json"),
    "infinite": (b'{"type":"order","attributes":{"number":1e999}}', "invalid_json"),
    "lone-surrogate": (b'{"type":"order","attributes":{"a":"\\ud800"}}', "invalid_json"),
    "not-an-object": (b"[1,2]", "invalid_event"),
    "no-type": (b'{"attributes":{}}', "invalid_event"),
    "type-is-number": (b'{"type":7}', "invalid_event"),
    "attributes-is-list": (b'{"type":"order","attributes":[]}', "invalid_event"),
    "id-is-number": (b'{"id":5,"type":"order"}', "invalid_event"),
    "id-with-slash": (b'{"id":"a/b","type":"order"}', "bad_id"),
    "id-too-long": (json.dumps({"id": "x" * 129, "type": "order"}).encode(), "bad_id"),
    "forged-tool-response": (b'{"type":"_tool_response_event","attributes":{"request_id":"x"}}', "forbidden_type"),
    "tool-request": (b'{"type":"_tool_request_event","attributes":{}}', "forbidden_type"),
    "chat-response": (b'{"type":"_chat_response_event","attributes":{}}', "forbidden_type"),
    "internal-type": (b'{"type":"never-seen"}', "forbidden_type"),
    "unknown-built-in": (b'{"type":"_no_such_event"}', "unknown_type"),
    "too-deep": (b'{"type":"order","attributes":{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}}", "too_deep"),
    "five-megabytes": (b'{"type":"order","attributes":{"a":"' + b"x" * 5_000_000 + b'"}}', "too_large"),
    "body-does-not-fit": (b'{"type":"order","attributes":{"number":"many"}}', "bad_request"),
}


def test_every_kind_of_bad_input_is_refused_with_its_reason(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router()
    here.worker("w0", "process")
    for name, (body, _) in BAD.items():
        here.emit(body, key=name, headers={"parkway-root-id": "forged", "x-mine": "kept"})
        here.emit(event("order", number=1), key=name)  # neighbours go through
    here.emit(event("order", number=1), key="cloud", headers={"content-type": "application/cloudevents+json"})
    here.emit(event("order", number=1), key="protobuf", headers={"content-type": "application/protobuf"})
    here.emit(event("order", number=1), key="avro", headers={"content-type": "application/vnd.parkway.event+avro"})
    here.emit(event("order", number=1), key="late", headers={"parkway-deadline": "tomorrow"})
    here.emit(event("order", number=1), key="reply", headers={"parkway-reply-to": "elsewhere"})
    here.flush()
    dead = {one.key.decode(): one for one in here.wait_read(here.topics.dlq, len(BAD) + 5)}
    reasons = {name: one.headers["parkway-error-type"].decode() for name, one in dead.items()}
    assert reasons == {name: reason for name, (_, reason) in BAD.items()} | {
        "cloud": "invalid_event",  # an envelope that says it is a CloudEvent
        "protobuf": "unsupported_content_type",
        "avro": "invalid_avro",
        "late": "invalid_header",
        "reply": "unknown_reply_topic",
    }
    for name, one in dead.items():
        assert one.headers["parkway-error-message"]
        topic, partition, offset = one.headers["parkway-origin"].decode().split("/")
        expected = here.topics.action("process") if name == "body-does-not-fit" else here.topics.requests
        assert (topic, int(partition)) == (expected, one.partition)
        assert int(offset) >= 0
        if name in BAD and name not in ("five-megabytes", "body-does-not-fit"):
            assert one.value == BAD[name][0]
            assert one.headers["x-mine"] == b"kept"
    assert len(dead["five-megabytes"].value or b"") == 4_000_000
    assert len(here.wait_read(here.topics.outputs, len(BAD))) == len(BAD)
    here.wait_no_lag(here.topics.router_group, here.topics.requests)


BAD_CHATS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown-model": ({"model": "nobody", "messages": [{"role": "user", "content": "hi"}]}, "unknown_model"),
    "messages-no-list": ({"model": "assistant", "messages": "hi"}, "bad_request"),
    "no-messages": ({"model": "assistant", "messages": []}, "bad_request"),
    "unknown-attribute": (
        {"model": "assistant", "messages": [{"role": "user", "content": "hi"}], "modle": 1},
        "bad_request",
    ),
    "empty": ({}, "bad_request"),
}


def test_a_bad_chat_request_gets_its_failed_response(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    here.router()
    here.worker("w0", "chat")
    for name, (attributes, _) in BAD_CHATS.items():
        here.emit(event("_chat_request_event", name, **attributes, user_context={"a": name}))
    here.flush()
    responses = [one.json["attributes"] for one in here.wait_read(here.topics.outputs, len(BAD_CHATS))]
    found = {one["request_id"]: (one["success"], one["error"]["type"], one["user_context"]) for one in responses}
    assert found == {name: (False, error, {"a": name}) for name, (_, error) in BAD_CHATS.items()}


def test_a_request_that_no_action_takes_is_answered_by_the_router(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")  # no chat model
    here.router()
    here.emit(event("_chat_request_event", "c", model="m", messages=[], user_context={"u": 1}))
    here.emit(event("_context_retrieval_request_event", "r", query="q", vector_store="s"))
    here.flush()
    (response,) = here.wait_read(here.topics.outputs, 1)
    assert response.json["attributes"]["error"]["type"] == "no_action"
    assert response.json["attributes"]["user_context"] == {"u": 1}
    (dead,) = here.wait_read(here.topics.dlq, 1)
    assert dead.headers["parkway-error-type"] == b"no_action"


def test_cloud_events_and_avro_come_in_like_our_own_envelope(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router()
    structured = {"specversion": "1.0", "id": "c-1", "source": "/shop", "type": "order", "data": {"number": 1}}
    here.emit(json.dumps(structured).encode(), headers={"content-type": "application/cloudevents+json"})
    here.emit(json.dumps(structured | {"id": "c-2"}).encode())
    binary = {"ce_specversion": "1.0", "ce_id": "c-3", "ce_source": "/shop", "ce_type": "order"}
    here.emit(b'{"number":1}', headers={**binary, "content-type": "application/json"})
    here.emit(AvroCodec().encode_event(json.dumps(event("order", "c-4", number=1)).encode()))
    here.flush()
    routed = {one.json["id"]: one for one in here.wait_read(here.topics.action("process"), 4)}
    assert sorted(routed) == ["c-1", "c-2", "c-3", "c-4"]
    for one in routed.values():
        assert one.json["attributes"] == {"number": 1}
        assert one.headers["parkway-type"] == b"order"
        assert one.headers["content-type"] == b"application/vnd.parkway.event+json"
        assert not any(name.startswith("ce_") for name in one.headers)


def test_what_is_written_inside_keeps_numbers_and_drops_forgeries(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router()
    body = (
        b'{"type":"order","type":"order","upstreamEventId":"forged","upstreamActionName":"forged","id":null,'
        b'"attributes":{"number":1,"big":123456789012345678901234567890,"exact":0.12345678901234567890,'
        b'"e":1E5,"twice":1,"twice":2}}'
    )
    here.emit(body, key="k", headers={"parkway-root": "forged", "parkway-hops": "99", "parkway-tenant": "acme"})
    here.flush()
    (routed,) = here.wait_read(here.topics.action("process"), 1)
    written = (routed.value or b"").decode()
    assert '"big":123456789012345678901234567890' in written
    assert '"exact":0.12345678901234567890' in written
    assert '"e":1E5' in written
    assert '"twice":2' in written
    assert '"twice":1' not in written
    assert "forged" not in written
    assert routed.headers["parkway-root"].startswith(here.topics.requests.encode())
    assert routed.headers["parkway-hops"] == b"0"
    assert routed.headers["parkway-tenant"] == b"acme"
    assert routed.headers["parkway-root-id"].decode() == routed.json["id"]


def test_a_trigger_that_triggers_itself_stops_at_the_hop_limit(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.apply(here.plan.model_copy(update={"hop_limit": 7}))
    here.router()
    here.worker("w0", "again")
    here.emit(event("again"), key="k")
    here.flush()
    (dead,) = here.wait_read(here.topics.dlq, 1)
    assert dead.headers["parkway-error-type"] == b"hop_limit"
    here.wait_no_lag(here.topics.router_group, here.topics.events)
    assert len(here.read(here.topics.events)) == 8


def test_a_failing_user_action_goes_to_the_dlq_and_sends_nothing(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router()
    here.worker("w0", "broken")
    here.emit(event("broken", "b-1"), key="k")
    here.flush()
    (dead,) = here.wait_read(here.topics.dlq, 1)
    assert dead.headers["parkway-error-type"] == b"action_failed"
    said = dead.headers["parkway-error-message"]
    assert said.startswith(b"ValueError at ")
    assert b"secret" not in said  # the text may quote the event: capture_content
    assert dead.json["id"] == "b-1"
    here.wait_no_lag(here.topics.worker_group("broken"), here.topics.action("broken"))
    assert here.read(here.topics.events) == []


def test_gzip_is_no_way_around_the_size_limit(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router()
    body = b'{"type":"order","attributes":{"a":"' + b"x" * 1_050_000 + b'"}}'
    assert len(gzip.compress(body)) < 10_000
    here.emit(body)
    here.flush()
    dead: list[Read] = here.wait_read(here.topics.dlq, 1)
    assert dead[0].headers["parkway-error-type"] == b"too_large"
