"""What the router counts, per action and reason, and what it need not decode."""

import json
from typing import Any

import pytest
from prometheus_client import REGISTRY

from parkway.router.routing import Routing
from parkway.runtime.records import Incoming, Record
from parkway.schemas.plan import ActionPlan, Plan
from parkway.schemas.topics import Topics

PLAN = Plan(
    agent="test",
    accepts=("ticket", "_chat_request_event"),
    actions=(
        ActionPlan(name="counted-by-type", triggers=("ticket",)),
        ActionPlan(name="counted-by-value", triggers=("type == 'ticket' && amount > 100",)),
        ActionPlan(name="counted-chat", triggers=("type == '_chat_request_event' && attributes.n > 1",)),
    ),
)


@pytest.fixture
def counts():
    """By how much each sample grew since."""
    before = _samples()
    return lambda name, **labels: _samples().get((name, *labels.items()), 0) - before.get((name, *labels.items()), 0)


def _samples() -> dict[tuple[Any, ...], float]:
    return {(one.name, *one.labels.items()): one.value for each in REGISTRY.collect() for one in each.samples}


def route(event_type: str, topic: str = "ns.requests", **changes: Any) -> list[Record]:
    attributes = changes.pop("attributes", {})
    body = json.dumps({"id": "e", "type": event_type, "attributes": attributes}).encode()
    record = Incoming(topic, 0, 0, 0, None, body, [("parkway-type", event_type.encode())])
    routing = Routing(PLAN.model_copy(update=changes), Topics("ns"))
    records = routing.route(record)
    routing.report()
    return records


def test_routed_records_are_counted_per_action(counts):
    route("ticket", attributes={"amount": 200})
    route("ticket", attributes={"amount": 1})
    assert counts("parkway_router_routed_total", action="counted-by-type") == 2
    assert counts("parkway_router_routed_total", action="counted-by-value") == 1


def test_dead_letters_are_counted_per_reason(counts):
    route("secret")
    route("_nonsense")
    assert counts("parkway_dlq_total", reason="forbidden_type") == 1
    assert counts("parkway_dlq_total", reason="unknown_type") == 1


def test_events_that_match_nothing_are_counted_and_own_types_are_one_label(counts):
    route("whatever", topic="ns.events")
    route("_chat_response_event", topic="ns.events")
    assert counts("parkway_router_no_match_total", type="other") == 1
    assert counts("parkway_router_no_match_total", type="_chat_response_event") == 1


@pytest.mark.parametrize(
    ("policy", "topics", "dead"),
    [("skip", ["ns.action.counted-by-type"], 0), ("fail", ["ns.dlq"], 1)],
)
def test_trigger_errors_are_counted_per_action_under_both_policies(counts, policy, topics, dead):
    records = route("ticket", attributes={"amount": "many"}, on_trigger_error=policy)
    assert [one.topic for one in records] == topics
    assert counts("parkway_router_trigger_errors_total", action="counted-by-value") == 1
    assert counts("parkway_dlq_total", reason="trigger_error") == dead


@pytest.mark.parametrize("topic", ["ns.requests", "ns.events"])
def test_a_request_whose_trigger_fails_is_answered_under_fail(topic):
    (answer,) = route("_chat_request_event", topic, attributes={"n": "x"}, on_trigger_error="fail")
    body = json.loads(answer.value or b"")
    assert answer.topic == ("ns.outputs" if topic == "ns.requests" else "ns.events")
    assert (body["type"], body["attributes"]["error"]["type"]) == ("_chat_response_event", "bad_request")


def test_one_trigger_error_of_thousands_is_enough_for_the_policy(counts):
    many = tuple(
        ActionPlan(name=f"counted-{number}", triggers=(f"type == 'ticket' && amount == {number}",))
        for number in range(200)
    )
    (dead,) = route("ticket", actions=many, on_trigger_error="fail")
    assert dead.topic == "ns.dlq"
    errors = sum(counts("parkway_router_trigger_errors_total", action=each.name) for each in many)
    assert 1 <= errors <= 200
