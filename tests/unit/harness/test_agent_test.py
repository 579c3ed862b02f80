import json
import threading
import time

import pytest
from harness_agents import Flaky, Support, lookup, ticket

from parkway.agents import ChatMessage, ChatRequestEvent, Event
from parkway.schemas.errors import ErrorType
from parkway.testing import (
    After,
    AgentTest,
    AgentTestError,
    CallTool,
    NotQuietError,
    ScriptedModel,
    ScriptError,
    SyncAgentTest,
)

PAID = {"assistant": ScriptedModel("It is paid.", per_conversation=True)}


def job(number: int, fails: int = 0) -> Event:
    return Event("job", {"number": number, "fails": fails}, id=f"j-{number}")


async def test_a_ticket_goes_through_chat_and_tool():
    model = ScriptedModel(CallTool("lookup", {"customer": "c1"}), "It is on its way.")
    async with AgentTest(Support, models={"assistant": model}) as test:
        assert await test.send(ticket(), key="c1") == ["t-1"]
        await test.run()
        assert test.outputs == [{"of": "t-1", "text": "It is on its way."}]
        assert test.parked == []
        assert test.dlq == []
        types = [event.type for event in test.events]
        assert types == [
            "_chat_request_event",
            "_tool_request_event",
            "_tool_response_event",
            "_chat_response_event",
        ]
        assert model.questions[1].tool_results == {"lookup": {"customer": "c1", "plan": "gold"}}
        assert model.questions[0].instructions == "You triage tickets."
        assert model.questions[0].tools == ("lookup",)


async def test_what_does_not_match_does_nothing():
    async with AgentTest(Support, models=PAID) as test:
        await test.send(ticket(amount=10), key="c1")
        await test.run()
        assert test.outputs == test.events == test.dlq == []


def test_the_sync_twin_and_an_agent_by_its_name(monkeypatch):
    with SyncAgentTest("harness_agents:Support", models=PAID) as test:
        test.send(ticket(1), key="c1")
        test.send(ticket(2), key="c2")
        test.run()
        assert sorted(one["of"] for one in test.outputs) == ["t-1", "t-2"]
        assert test.outputs_of("c2") == [{"of": "t-2", "text": "It is paid."}]
        assert test.plan.agent == "harness_agents:Support"


def test_a_chat_from_outside_is_answered_to_outside_only():
    with SyncAgentTest(Support, models=PAID) as test:
        asked = ChatRequestEvent(
            model="assistant", messages=[ChatMessage.user("hi")], user_context={"of": "x"}, id="r-1"
        )
        test.send(asked, key="k")
        test.run()
        (response,) = test.responses
        assert (response.request_id, response.success, response.user_context) == ("r-1", True, {"of": "x"})
        assert test.events == []
        assert test.outputs == []  # the agent's own `answer` was not fired


def test_order_by_key_holds_while_a_key_is_retried_and_other_keys_go_on():
    with SyncAgentTest(Flaky, partitions=1) as test:
        for number, key in enumerate(["a", "a", "b", "a", "b"]):
            test.send(job(number, fails=2 if number == 0 else 0), key=key)
        began = test.clock.now_ms
        test.run()
        assert [one["number"] for one in test.outputs_of("a")] == [0, 1, 3]
        assert [one["number"] for one in test.outputs_of("b")] == [2, 4]
        assert [one["number"] for one in test.outputs] == [2, 4, 0, 1, 3]
        assert test.outputs_of("a")[0]["attempt"] == 3
        assert test.clock.now_ms - began >= 30_000 * 0.5  # the clock was moved past two back-offs; nobody slept


def test_retries_are_bounded_and_end_in_the_dlq_with_the_reason():
    started = time.monotonic()
    with SyncAgentTest(Flaky) as test:
        test.send(job(1, fails=9), key="a")
        test.run()
        (dead,) = test.dlq
        assert (dead.reason, dead.attempts, dead.key) == ("action_failed", 3, "a")
        assert "attempt 3" in dead.message
        assert dead.event is not None
        assert dead.event["id"] == "j-1"
    assert time.monotonic() - started < 20


def test_the_timeout_of_an_attempt_goes_by_the_test_s_clock():
    with SyncAgentTest(Flaky) as test:
        test.send(Event("slow", {"seconds": 4}), Event("slow", {"seconds": 6}))
        test.run()
        assert test.outputs == ["woke up"]
        assert [dead.reason for dead in test.dlq] == ["action_failed"]
        assert "took longer than 5 s" in test.dlq[0].message


def test_a_sync_handler_runs_in_a_real_thread():
    with SyncAgentTest(Flaky) as test:
        test.send(Event("sync", {"seconds": 0.05}))
        test.run()
        assert test.outputs == ["from a thread"]


def test_an_endless_chain_ends_at_the_hop_limit():
    with SyncAgentTest(Flaky, policies={"hop_limit": 5}) as test:
        test.send(Event("loop"))
        test.run()
        assert [dead.reason for dead in test.dlq] == ["hop_limit"]
        assert len(test.events) == 6


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"{", "invalid_json"),
        ({"type": "_tool_request_event", "attributes": {}}, "forbidden_type"),
        ({"type": "_made_up"}, "unknown_type"),
        ({"type": "ticket", "id": "no spaces"}, "bad_id"),
        ({"type": "ticket", "attributes": {"amount": 200}}, "bad_request"),
    ],
)
def test_what_cannot_be_handled_is_in_the_dlq(sent, reason):
    with SyncAgentTest(Support, models=PAID) as test:
        test.send(sent, key="k")
        test.run()
        assert [dead.reason for dead in test.dlq] == [reason]
        assert test.outputs == []


def parked_chat(test: SyncAgentTest) -> None:
    test.send(ticket(), key="c1")
    test.run()
    (parked,) = test.parked
    assert (parked.action, parked.round) == ("chat", 1)


async def never(customer: str) -> None:
    raise AssertionError("a test does not get here")


def no_tool_action() -> dict[str, object]:
    """The tool is slower than any deadline of its request."""
    return {
        "models": {"assistant": ScriptedModel(CallTool("lookup", {"customer": "c1"}), "late")},
        "tools": {"lookup": hang},
    }


async def hang(customer: str) -> None:
    import asyncio

    await asyncio.Event().wait()


def test_a_tool_that_hangs_times_out_and_the_chat_goes_on():
    with SyncAgentTest(Support, **no_tool_action()) as test:
        test.send(ticket(), key="c1")
        test.run()  # 60 s of the clock: the tool's own timeout
        assert test.outputs == [{"of": "t-1", "text": "late"}]
        assert test.parked == []


def test_a_deadline_ends_a_request_whose_call_is_slow():
    models = {"assistant": ScriptedModel(After(50, "too late"))}
    with SyncAgentTest(Support, models=models) as test:
        deadline = str(test.clock.now_ms + 10_000)
        test.send(ticket(), key="c1", headers={"parkway-deadline": deadline})
        test.run()
        assert test.outputs == [{"of": "t-1", "text": str(ErrorType.DEADLINE_EXCEEDED)}]


class TestParked:
    """A chat that waits for a tool response that never comes: the tool action is not in this process."""

    @pytest.fixture
    def test(self):
        models = {"assistant": ScriptedModel(CallTool("lookup", {"customer": "c1"}), "done")}
        with SyncAgentTest(Support, models=models, actions=["triage", "chat", "answer"]) as test:
            parked_chat(test)
            yield test

    def test_the_sweep_ends_it_at_its_deadline_and_not_before(self, test):
        test.clock.advance(minutes=9)
        test.run()
        assert len(test.parked) == 1
        test.clock.advance(minutes=1, seconds=2)
        test.run()
        assert test.parked == []
        assert test.outputs == [{"of": "t-1", "text": str(ErrorType.DEADLINE_EXCEEDED)}]

    def test_a_cancellation_ends_it_and_its_tool_request(self, test):
        (request,) = [event for event in test.events if event.type == "_chat_request_event"]
        test.cancel(request.id, reason="no longer needed")
        test.run()
        assert test.parked == []
        assert test.outputs == [{"of": "t-1", "text": str(ErrorType.CANCELLED)}]

    def test_a_forged_tool_response_resumes_nothing(self, test):
        waits_for = test.parked[0].waits_for
        test.send({"type": "_tool_response_event", "attributes": {"request_id": waits_for, "responses": {}}}, key="c1")
        test.run()
        assert len(test.parked) == 1
        assert [dead.reason for dead in test.dlq] == ["forbidden_type"]


def test_a_request_id_twice_is_one_request():
    def asked(text: str) -> ChatRequestEvent:
        return ChatRequestEvent(model="assistant", messages=[ChatMessage.user(text)], id="r-1")

    models = {"assistant": ScriptedModel(After(5, "one"), "two")}
    with SyncAgentTest(Support, models=models) as test:
        test.send(asked("a"), asked("a"), asked("b"), key="k")
        test.run()
        assert [response.response.content for response in test.responses] == ["one"]
        assert [dead.reason for dead in test.dlq] == ["duplicate_request_id"]


def test_the_model_s_errors_are_retried_by_the_clock():
    models = {"assistant": ScriptedModel(ConnectionError("away"), TimeoutError(), "third time")}
    with SyncAgentTest(Support, models=models) as test:
        test.send(ticket(), key="c1")
        test.run()
        assert test.outputs[0]["text"] == "third time"


def test_a_fallback_answers_when_the_model_refuses_for_good():
    models = {"assistant": [ScriptedModel(ValueError("broken"), name="first"), ScriptedModel("second", name="other")]}
    with SyncAgentTest(Support, models=models) as test:
        test.send(ticket(), key="c1")
        test.run()
        assert test.outputs[0]["text"] == "second"


def test_a_tool_by_another_function():
    asked = []

    def other(customer: str) -> str:
        asked.append((customer, threading.current_thread() is threading.main_thread()))
        return "silver"

    models = {"assistant": ScriptedModel(CallTool("lookup", {"customer": "c9"}), "ok")}
    with SyncAgentTest(Support, models=models, tools={"lookup": other}) as test:
        test.send(ticket(), key="c1")
        test.run()
        assert asked == [("c9", False)]
        assert models["assistant"].questions[1].tool_results == {"lookup": "silver"}
    assert lookup.function is not other  # the agent's own class is what it was


def test_the_journal_and_the_raw_records():
    with SyncAgentTest(Support, models=PAID) as test:
        test.send(ticket(), key="c1", headers={"parkway-tenant": "acme"})
        test.run()
        (output,) = test.records("outputs")
        assert output.headers["parkway-tenant"] == b"acme"
        assert output.headers["parkway-root-id"] == b"t-1"
        assert [record.topic for record in test.records("action.triage")] == ["parkway.action.triage"]
        assert json.loads(output.value)["attributes"]["output"]["of"] == "t-1"


def test_a_lifespan_is_opened_and_closed_with_the_process():
    agent = Flaky()
    with SyncAgentTest(agent) as test:
        assert agent.opened == ["open"]
        test.run()
    assert agent.opened == ["open", "closed"]


class Unopened(Flaky):
    async def lifespan(self):
        raise LookupError("no database")
        yield


class TestMistakes:
    def test_a_lifespan_that_fails_is_said_at_the_beginning(self):
        with pytest.raises(LookupError, match="no database"), SyncAgentTest(Unopened):
            pass

    def test_a_script_that_is_used_up_names_the_request(self):
        models = {"assistant": ScriptedModel(CallTool("lookup", {"customer": "c1"}))}
        with SyncAgentTest(Support, models=models) as test:
            test.send(ticket(text="Where?"), key="c1")
            with pytest.raises(ScriptError, match=r"script of 1 reply is used up by request 2.*user: Where\?") as told:
                test.run()
            assert "lookup gave:" in str(told.value)

    def test_names_that_the_agent_does_not_have(self):
        with pytest.raises(AgentTestError, match=r"models=\{'asistant'.*did you mean assistant"):
            AgentTest(Support, models={"asistant": ScriptedModel("x")})
        with pytest.raises(AgentTestError, match=r"tools=\{'find'.*there are: lookup"):
            AgentTest(Support, tools={"find": never})
        with pytest.raises(AgentTestError, match=r"resources=\{'docs'"):
            AgentTest(Support, resources={"docs": None})

    def test_a_handler_that_waits_for_ever_is_named(self):
        with SyncAgentTest(Flaky) as test:
            test.send(Event("forever", id="f-1"))
            with pytest.raises(NotQuietError, match=r"action 'wait': forever 'f-1' runs.*at_most"):
                test.run(at_most=60)

    def test_nothing_runs_outside_of_with(self):
        with pytest.raises(AgentTestError, match="has not begun"):
            _ = AgentTest(Support).outputs

    def test_a_clock_goes_ahead_only(self):
        with SyncAgentTest(Flaky) as test, pytest.raises(ValueError, match="ahead only"):
            test.clock.advance(minutes=-1)
