import json
from typing import Any

import pytest

from parkway.router.routing import Routing
from parkway.runtime.records import Incoming, Record
from parkway.schemas.plan import ActionPlan, Plan
from parkway.schemas.topics import Topics

TOPICS = Topics("ns")
PLAN = Plan(
    agent="test",
    accepts=("ticket", "_chat_request_event", "_context_retrieval_request_event"),
    actions=(
        ActionPlan(name="triage", triggers=("ticket",)),
        ActionPlan(name="large", triggers=("type == 'ticket' && amount > 100",)),
        ActionPlan(name="log-tools", triggers=("_tool_response_event",)),
        ActionPlan(
            name="chat",
            triggers=("_chat_request_event",),
            resumed_by=("_tool_response_event", "_cancel_request_event"),
            answers=("_chat_request_event",),
        ),
        ActionPlan(name="watch", triggers=("_cancel_request_event",)),
    ),
)


def outside(body: dict[str, Any], **headers: str) -> Incoming:
    given = [(name.replace("_", "-"), value.encode()) for name, value in headers.items()]
    return Incoming("ns.requests", 2, 5, 1000, b"key", json.dumps(body).encode(), given)


def inside(body: dict[str, Any], **headers: str) -> Incoming:
    body = {"id": "i", **body}
    given = [("parkway-type", body["type"].encode())]
    given += [(name.replace("_", "-"), value.encode()) for name, value in headers.items()]
    return Incoming("ns.events", 2, 5, 1000, b"key", json.dumps(body).encode(), given)


def route(record: Incoming, **changes: Any) -> list[Record]:
    return Routing(PLAN.model_copy(update=changes), TOPICS, partitions=8).route(record)


def topics_of(records: list[Record]) -> list[str]:
    return [record.topic.removeprefix("ns.") for record in records]


def reason(record: Record) -> str:
    return dict(record.headers)["parkway-error-type"].decode()


def test_each_match_goes_to_its_actions_topic_in_the_same_partition_with_the_same_key() -> None:
    records = route(outside({"type": "ticket", "attributes": {"amount": 200}}))
    assert topics_of(records) == ["action.triage", "action.large"]
    assert {(record.partition, record.key) for record in records} == {(2, b"key")}


def test_what_comes_from_inside_is_forwarded_untouched() -> None:
    record = inside({"type": "ticket", "attributes": {"amount": 1}, "upstreamActionName": "a"}, parkway_hops="3")
    (forwarded,) = route(record)
    assert forwarded.value is record.value
    assert forwarded.headers == record.headers


@pytest.mark.parametrize(
    "body", [b"[1]", b"{}", b'{"type":"other","id":"x"}', b'{"type":"ticket","id":"x","attributes":[]}', b"nonsense"]
)
def test_what_somebody_wrote_into_events_by_hand_is_refused(body: bytes) -> None:
    (dead,) = route(Incoming("ns.events", 0, 0, 0, None, body, [("parkway-type", b"ticket")]))
    assert reason(dead) in {"invalid_event", "invalid_json"}


def test_what_the_type_alone_decides_is_not_decoded() -> None:
    record = Incoming("ns.events", 0, 0, 0, None, b"not json at all", [("parkway-type", b"_chat_request_event")])
    assert topics_of(route(record)) == ["action.chat"]


def test_a_continuation_goes_to_resume_beside_its_triggers() -> None:
    assert topics_of(route(inside({"type": "_tool_response_event", "attributes": {}}))) == [
        "action.log-tools",
        "resume.chat",
    ]


def test_a_continuation_passes_the_hop_limit_and_a_trigger_does_not() -> None:
    record = inside({"type": "_tool_response_event", "attributes": {}}, parkway_hops="101")
    assert topics_of(route(record)) == ["resume.chat"]
    (dead,) = route(inside({"type": "ticket"}, parkway_hops="101"))
    assert reason(dead) == "hop_limit"
    assert topics_of(route(inside({"type": "ticket"}, parkway_hops="100"))) == ["action.triage"]


def test_a_request_beyond_the_hop_limit_is_answered_and_the_chain_still_ends() -> None:
    (answer,) = route(inside({"id": "r", "type": "_chat_request_event", "attributes": {}}, parkway_hops="101"))
    assert answer.topic == "ns.events"
    assert dict(answer.headers)["parkway-hops"] == b"101"
    (dead,) = route(Incoming("ns.events", 2, 6, 0, None, answer.value, answer.headers))
    assert reason(dead) == "hop_limit"


@pytest.mark.parametrize(("route_external", "topic"), [(False, "ns.outputs"), (True, "ns.events")])
def test_the_routers_own_failed_response_goes_where_a_response_would(route_external: bool, topic: str) -> None:
    plan = {"actions": PLAN.actions[:1], "route_external_responses": route_external}
    (answer,) = route(outside({"id": "r", "type": "_chat_request_event"}), **plan)
    body = json.loads(answer.value or b"")
    assert answer.topic == topic
    assert body["attributes"]["error"]["type"] == "no_action"
    assert "user_context" not in body["attributes"]
    assert "parkway-external" not in dict(answer.headers)


def test_a_retrieval_request_without_an_action_goes_to_the_dlq() -> None:
    (dead,) = route(outside({"id": "r", "type": "_context_retrieval_request_event"}))
    assert reason(dead) == "no_action"


def test_an_event_that_matches_nothing_is_no_error() -> None:
    assert route(inside({"type": "unheard-of"})) == []


def test_a_trigger_error_is_false_by_default_and_a_dead_letter_by_policy() -> None:
    record = outside({"type": "ticket", "attributes": {"amount": "many"}})
    assert topics_of(route(record)) == ["action.triage"]
    (dead,) = route(record, on_trigger_error="fail")
    assert reason(dead) == "trigger_error"
    assert dead.value == record.value


def test_a_refused_record_keeps_its_bytes_headers_and_origin() -> None:
    record = outside({"type": "secret"}, x_mine="1")
    (dead,) = route(record)
    headers = dict(dead.headers)
    assert (dead.topic, dead.partition, dead.key, dead.value) == ("ns.dlq", 2, b"key", record.value)
    assert headers["x-mine"] == b"1"
    assert headers["parkway-origin"] == b"ns.requests/2/5"
    assert b"accepts ticket" in headers["parkway-error-message"]


def test_a_reply_topic_must_be_on_the_plans_list() -> None:
    request = outside({"type": "ticket"}, parkway_reply_to="replies")
    assert reason(route(request)[0]) == "unknown_reply_topic"
    (routed,) = route(request, reply_topics=("replies",))
    assert dict(routed.headers)["parkway-reply-to"] == b"replies"


def test_headers_from_outside_are_kept_made_or_removed() -> None:
    given = {
        "traceparent": "00-a",
        "parkway_tenant": "t",
        "parkway_subject": "s",
        "parkway_deadline": "123",
        "parkway_root": "x",
        "parkway_parent": "x",
        "parkway_type": "x",
        "parkway_hops": "9",
        "other": "x",
    }
    (routed,) = route(outside({"id": "e", "type": "ticket"}, **given))
    assert dict(routed.headers) == {
        "content-type": b"application/vnd.parkway.event+json",
        "parkway-type": b"ticket",
        "parkway-external": b"1",
        "parkway-root": b"ns.requests:2:5:1000",
        "parkway-root-id": b"e",
        "parkway-hops": b"0",
        "traceparent": b"00-a",
        "parkway-tenant": b"t",
        "parkway-subject": b"s",
        "parkway-deadline": b"123",
    }


def test_a_request_for_a_parked_one_goes_where_no_new_work_is_in_front_of_it() -> None:
    request = {"type": "_chat_request_event", "attributes": {"model": "m", "messages": []}}
    assert topics_of(route(inside(request, parkway_parent="r/chat"))) == ["resume.chat"]
    assert topics_of(route(inside(request))) == ["action.chat"]
    assert topics_of(route(outside(request, parkway_parent="r/chat"))) == ["action.chat"]
    assert topics_of(route(inside({"type": "ticket", "attributes": {}}, parkway_parent="r/chat"))) == ["action.triage"]


SECRET = "0123456789abcdef" * 2


def cancellation(**attributes: Any) -> dict[str, Any]:
    return {"type": "_cancel_request_event", "id": "c", "attributes": attributes}


def test_a_token_leads_a_cancellation_from_outside_to_its_partition() -> None:
    (record,) = route(outside(cancellation(token=f"chat.7.{SECRET}")))
    assert (record.topic, record.partition) == ("ns.resume.chat", 7)
    assert dict(record.headers)["parkway-external"] == b"1"
    assert json.loads(record.value)["attributes"]["token"].endswith(SECRET)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"request_id": "r"}, "needs the cancel token"),
        ({"request_id": "r", "action": "chat", "token": None}, "needs the cancel token"),
        ({"token": 7}, "a string"),
        ({"token": "chat.1.short"}, "expected a token"),
        ({"token": f"triage.1.{SECRET}"}, "'triage' has no requests that can be cancelled (the plan's: chat)"),
        ({"token": f"chat.8.{SECRET}"}, "partition 8, the topics have 8"),
    ],
)
def test_a_cancellation_from_outside_that_leads_nowhere_is_refused(attributes: dict[str, Any], said: str) -> None:
    routing = Routing(PLAN, TOPICS, partitions=8)
    (dead,) = routing.route(outside(cancellation(**attributes)))
    assert (dead.topic, reason(dead)) == ("ns.dlq", "bad_token")
    assert said in dict(dead.headers)["parkway-error-message"].decode()


def test_cancellations_are_forbidden_where_nothing_can_be_cancelled() -> None:
    (dead,) = route(outside(cancellation(token=f"chat.7.{SECRET}")), actions=PLAN.actions[:1])
    assert reason(dead) == "forbidden_type"


def test_a_cancellation_from_inside_goes_by_request_id_and_action_in_its_own_partition() -> None:
    record = inside(cancellation(request_id="r", action="chat"))
    fired, cancelled = route(record)
    assert [(one.topic, one.partition) for one in (fired, cancelled)] == [("ns.action.watch", 2), ("ns.resume.chat", 2)]
    assert cancelled.value is record.value
    assert topics_of(route(inside(cancellation(request_id="r")))) == ["action.watch", "resume.chat"]
    (dead,) = route(inside(cancellation(request_id="r", action="triage")))
    assert reason(dead) == "no_action"


def test_a_cancellation_passes_the_hop_limit() -> None:
    records = route(inside(cancellation(request_id="r"), parkway_hops="5000"))
    assert topics_of(records) == ["action.watch", "resume.chat"]


def test_the_secret_of_a_cancel_token_is_kept_when_it_is_one() -> None:
    request = {"type": "_chat_request_event", "attributes": {"model": "m", "messages": []}}
    (record,) = route(outside(request, parkway_cancel_secret=SECRET))
    assert dict(record.headers)["parkway-cancel-secret"] == SECRET.encode()
    for wrong in (SECRET.upper(), SECRET[1:], "chat.7." + SECRET):
        (dead,) = route(outside(request, parkway_cancel_secret=wrong))
        assert reason(dead) == "invalid_header"


@pytest.mark.parametrize("calls", [5, "ab", {"id": "c1"}, [7, {"id": ["c1"]}, {"id": None}, {}, {"id": "c1"}]])
def test_a_tool_request_that_nobody_takes_is_answered_whatever_its_calls_are(calls: Any) -> None:
    (answer,) = route(inside({"type": "_tool_request_event", "attributes": {"tool_calls": calls}}))
    assert answer.topic == "ns.events"
    assert json.loads(answer.value or b"")["attributes"]["success"] == (
        {"c1": False} if isinstance(calls, list) else {}
    )


@pytest.mark.parametrize("action", [["chat"], {"chat": 1}, 7, True, "other"])
def test_a_cancellation_that_names_no_action_is_dead_lettered(action: Any) -> None:
    (dead,) = route(inside({"type": "_cancel_request_event", "attributes": {"request_id": "r", "action": action}}))
    assert reason(dead) == "no_action"


def test_a_record_that_meets_a_defect_ends_no_router(monkeypatch: pytest.MonkeyPatch) -> None:
    routing = Routing(PLAN, TOPICS, partitions=8)

    def defect(*_: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr("parkway.router.table.TriggerTable.match", defect)
    (dead,) = routing.route(outside({"type": "ticket"}))
    assert reason(dead) == "invalid_event"
    assert "KeyError" in dict(dead.headers)["parkway-error-message"].decode()
    assert "secret" not in str(dead.headers)


APPROVING = (
    *PLAN.actions,
    ActionPlan(
        name="tool",
        triggers=("_tool_request_event",),
        resumed_by=("_cancel_request_event", "_approval_response_event"),
        answers=("_tool_request_event",),
    ),
    ActionPlan(name="audit", triggers=("_approval_response_event",)),
)


def approval(**attributes: Any) -> dict[str, Any]:
    return {"type": "_approval_response_event", "id": "a", "attributes": {"request_id": "t", **attributes}}


def test_a_token_leads_an_approval_from_outside_to_its_partition_and_fires_nothing() -> None:
    (record,) = route(outside(approval(token=f"tool.7.{SECRET}", approved=True)), actions=APPROVING)
    assert (record.topic, record.partition, record.key) == ("ns.resume.tool", 7, b"key")


def test_an_approval_from_inside_goes_to_its_partition_and_may_fire_triggers() -> None:
    records = route(inside(approval(token=f"tool.7.{SECRET}", approved=True), parkway_hops="5000"), actions=APPROVING)
    assert [(one.topic, one.partition) for one in records] == [("ns.action.audit", 2), ("ns.resume.tool", 7)]


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({}, "an approval needs the token"),
        ({"token": 7}, "expected a string"),
        ({"token": "tool.7.short"}, "expected a token"),
        ({"token": f"tool.8.{SECRET}"}, "partition 8, the topics have 8"),
        ({"token": f"chat.1.{SECRET}"}, "'chat' asks nobody for approvals (the plan's: tool)"),
        ({"token": f"other.1.{SECRET}"}, "'other' asks nobody for approvals (the plan's: tool)"),
    ],
)
@pytest.mark.parametrize("way", [outside, inside])
def test_an_approval_that_leads_nowhere_is_refused(way: Any, attributes: dict[str, Any], said: str) -> None:
    (dead,) = [one for one in route(way(approval(**attributes)), actions=APPROVING) if one.topic == "ns.dlq"]
    assert reason(dead) == "bad_token"
    assert said in dict(dead.headers)["parkway-error-message"].decode()


def test_approvals_are_forbidden_where_nobody_is_asked() -> None:
    (dead,) = route(outside(approval(token=f"tool.7.{SECRET}", approved=True)))
    assert reason(dead) == "forbidden_type"


def test_a_tool_request_of_a_parked_chat_does_not_wait_behind_new_work_where_tools_may_park() -> None:
    record = inside({"type": "_tool_request_event", "attributes": {}}, parkway_parent="r/chat")
    assert topics_of(route(record, actions=APPROVING)) == ["resume.tool"]
