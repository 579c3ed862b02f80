"""What one plan changes against another, and what retiring an action does to a plan."""

import pytest

from parkway.router.plan_diff import diff
from parkway.router.routing import Routing
from parkway.runtime.records import Incoming
from parkway.schemas.plan import ActionPlan, Plan, PlanError, SinkPlan, SourcePlan
from parkway.schemas.topics import Topics

CHAT = ActionPlan(
    name="chat",
    triggers=("_chat_request_event",),
    resumed_by=("_tool_response_event",),
    answers=("_chat_request_event",),
)
SHIP = ActionPlan(name="ship", triggers=("order", "amount > 1"))
PLAN = Plan(agent="a:A", actions=(SHIP, CHAT), sources=(SourcePlan(topic="shop", type="order"),)).with_build()


def changed(**changes):
    return PLAN.model_copy(update=changes).with_build()


def lines(old, new):
    return list(diff(old, new).lines())


def test_the_same_plan_differs_in_nothing():
    assert not diff(PLAN, changed(agent="another:Name"))
    assert diff(PLAN, PLAN).to_json()["same"] is True


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"actions": (SHIP,)}, ["- action chat"]),
        (
            {"actions": (SHIP.model_copy(update={"keeps_state": True, "keeps_steps": True}), CHAT)},
            ["+ action ship: keeps state", "+ action ship: keeps steps"],
        ),
        ({"sinks": (SinkPlan(topic="done"),)}, ["+ sink done (json)"]),
        ({"actions": (SHIP, CHAT, ActionPlan(name="new", triggers=("x",)))}, ["+ action new"]),
        (
            {"actions": (SHIP.model_copy(update={"triggers": ("order", "amount > 2")}), CHAT)},
            ["+ action ship: trigger amount > 2", "- action ship: trigger amount > 1"],
        ),
        (
            {"actions": (SHIP, CHAT.retire())},
            [
                "~ action chat: retired: continuations only",
                "- action chat: trigger _chat_request_event",
                "- action chat: answers _chat_request_event",
            ],
        ),
        ({"accepts": (*PLAN.accepts, "order")}, ["+ accepts order"]),
        (
            {"sources": (SourcePlan(topic="shop", type="sale"),)},
            ["+ source shop (json, sale)", "- source shop (json, order)"],
        ),
        ({"on_trigger_error": "fail"}, ["~ on_trigger_error: skip -> fail"]),
        ({"route_external_responses": True}, ["~ route_external_responses: no -> yes"]),
        ({"reply_topics": ("replies",)}, ["~ reply_topics: none -> replies"]),
        ({"actions": (CHAT, SHIP)}, ["~ the order of actions or triggers"]),
    ],
)
def test_each_change_is_said(changes, said):
    assert lines(PLAN, changed(**changes)) == said


def test_without_a_plan_in_force_everything_is_added():
    assert lines(None, PLAN)[:2] == ["+ action ship", "+ action chat"]
    assert "+ source shop (json, order)" in lines(None, PLAN)


def test_a_retired_action_is_taken_from_this_plan_or_the_one_in_force():
    for plan in (PLAN, PLAN.without(["chat"])):
        retiring = plan.retire("chat", PLAN)
        assert retiring.retired == ("chat",)
        assert retiring.action("chat").resumed_by == ("_tool_response_event",)
        assert retiring.build not in (PLAN.build, plan.build)
        assert retiring.without(["chat"]).build == PLAN.without(["chat"]).build
    with pytest.raises(PlanError, match=r"no action 'chit' to retire.*chat, ship"):
        PLAN.retire("chit", PLAN)


def test_another_action_may_answer_what_a_retired_one_answered():
    other = ActionPlan(name="other", triggers=("_chat_request_event",), answers=("_chat_request_event",))
    with pytest.raises(ValueError, match="answered by chat and other"):
        Plan(agent="a:A", actions=(CHAT, other))
    assert Plan(agent="a:A", actions=(CHAT.retire(), other)).retired == ("chat",)


def test_a_retired_action_gets_continuations_and_nothing_new():
    routing = Routing(PLAN.retire("chat"), Topics("ns"))

    def topics(event_type):
        value = b'{"id":"e","type":"%s","attributes":{}}' % event_type.encode()
        given = [("parkway-type", event_type.encode())]
        return [one.topic for one in routing.route(Incoming("ns.events", 0, 0, 0, None, value, given))]

    assert topics("_tool_response_event") == ["ns.resume.chat"]
    assert topics("_chat_request_event") == ["ns.events"]  # the failed response, no_action


def test_a_retired_action_with_a_trigger_is_no_plan():
    body = PLAN.model_dump(mode="json")
    body["actions"][0]["retired"] = True
    with pytest.raises(ValueError, match="'ship' is retired: it has no triggers"):
        Plan.model_validate(body)
