import pytest
from harness_agents import Flaky, Leaky, Support, ticket

from parkway.agents import (
    Agent,
    ApprovalRequestEvent,
    ApprovalResponseEvent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    Context,
    Event,
    action,
    tool,
)
from parkway.testing import (
    AgentTest,
    AgentTestError,
    CallTool,
    CrashError,
    ScriptedModel,
    SyncAgentTest,
    run_scenario,
    run_scenario_sync,
)
from parkway.testing.memory.lives import Death
from parkway.testing.memory.log import MemoryLog


async def two_tickets(test: AgentTest) -> None:
    await test.send(ticket(1), key="c1")
    await test.send(ticket(2, text="When?"), key="c2")
    await test.run()
    assert len(test.outputs) == 2


async def test_a_chat_with_a_tool_survives_every_point_of_death():
    calls = []

    async def count(customer: str) -> str:
        calls.append(customer)
        return "gold"

    model = ScriptedModel(CallTool("lookup", {"customer": "c1"}), "It is paid.", per_conversation=True)
    survived = await run_scenario(
        Support, two_tickets, crash="every-commit", models={"assistant": model}, tools={"lookup": count}
    )
    assert len(survived.deaths) > 30
    assert any("parkway.parked" in commit for commit in survived.commits)
    assert set(survived.outcome) == {"outputs [c1]", "outputs [c2]"}
    # Side effects ran again after some deaths: results were committed once all the same.
    assert len(calls) > 2 * (1 + len(survived.deaths))


def test_a_sequential_script_gives_a_process_that_died_the_same_replies_again():
    def scenario(test: SyncAgentTest) -> None:
        test.send(ticket(1), key="c1")
        test.run()

    model = ScriptedModel(CallTool("lookup", {"customer": "c1"}), "one", "never said")
    survived = run_scenario_sync(Support, scenario, crash="every-commit", models={"assistant": model})
    (output,) = survived.outcome["outputs [c1]"]
    assert '"one"' in output


def test_retries_and_their_order_survive():
    def scenario(test: SyncAgentTest) -> None:
        for number in range(3):
            test.send(Event("job", {"number": number, "fails": 2 if number == 0 else 0}, id=f"j-{number}"), key="a")
        test.run()

    survived = run_scenario_sync(Flaky, scenario, crash="every-commit")
    numbers = [line.partition('"number": ')[2][0] for line in survived.outcome["outputs [a]"]]
    assert numbers == ["0", "1", "2"]  # in order: every action of the agent keeps it


def test_parked_requests_and_deadlines_survive():
    def scenario(test: SyncAgentTest) -> None:
        test.send(ticket(1), key="c1")
        test.run()
        assert len(test.parked) == 1
        test.clock.advance(seconds=25)

    model = ScriptedModel(CallTool("lookup", {"customer": "c1"}))
    survived = run_scenario_sync(
        Support,
        scenario,
        crash="every-commit",
        models={"assistant": model},
        actions=["triage", "chat", "answer"],
        settings={"request_deadline": 20},
    )
    assert "deadline_exceeded" in survived.outcome["outputs [c1]"][0]


def test_what_an_instance_remembers_is_gone_and_the_report_says_where():
    def scenario(test: SyncAgentTest) -> None:
        for number in range(3):
            test.send(Event("job", {"number": number}), key="a")
            test.run()

    with pytest.raises(CrashError) as told:
        run_scenario_sync(Leaky, scenario, crash="every-commit")
    text = str(told.value)
    assert "the process died just after commit" in text or "the process died just before commit" in text
    assert "of parkway.worker.work: parkway.outputs" in text
    assert 'outputs [a]: not expected: {"output": {"seen": 1}, "type": "_output_event"}' in text
    assert 'outputs [a]: missing: {"output": {"seen": 3}, "type": "_output_event"}' in text


def test_results_that_are_committed_without_their_offsets_are_found(monkeypatch):
    """The harness sees a protocol that is broken: offsets that are lost in a transaction double what comes out."""
    write = MemoryLog.write

    def without_offsets(self, records, group=None, offsets=()):
        lost = group is not None and group.endswith("worker.work") and records
        return write(self, records, group, () if lost else offsets)

    monkeypatch.setattr(MemoryLog, "write", without_offsets)

    def scenario(test: SyncAgentTest) -> None:
        test.send(Event("job", {"number": 1}), key="a")
        test.run()

    with pytest.raises(CrashError, match=r"outputs \[a\]: not expected"):
        run_scenario_sync(Flaky, scenario, crash="every-commit")


def test_a_scenario_that_fails_after_a_death_says_so():
    def scenario(test: SyncAgentTest) -> None:
        test.send(Event("job", {"number": 1}), key="a")
        test.run()
        assert not hasattr(test.installation, "lives") or test.installation.lives.current == 1, "began again"

    with pytest.raises(CrashError, match=r"died just before commit 1 .*, and then the scenario failed: .*began again"):
        run_scenario_sync(Flaky, scenario, crash="every-commit")


def test_a_scenario_that_fails_without_a_death_fails_as_it_is():
    def scenario(test: SyncAgentTest) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_scenario_sync(Flaky, scenario, crash="every-commit")


def test_without_a_crash_it_is_one_run():
    survived = run_scenario_sync(Flaky, lambda test: test.send(Event("job", {"number": 1}), key="a"))
    assert survived.deaths == []
    assert list(survived.outcome) == ["outputs [a]"]


def test_what_crashes_cannot_do():
    with pytest.raises(AgentTestError, match="every-commit"):
        run_scenario_sync(Flaky, lambda _: None, crash="now")
    with pytest.raises(AgentTestError, match="in memory only"):
        run_scenario_sync(Flaky, lambda _: None, crash="every-commit", kafka="127.0.0.1:1")
    with pytest.raises(AgentTestError, match="in memory only"):
        AgentTest(Flaky, kafka="127.0.0.1:1", death=Death(1, "before"))


class Chained(Agent):
    @action("start", external=True)
    async def start(self, event: Event, ctx: Context) -> None:
        for number in range(3):
            ctx.send(Event("step", {"number": number}))

    @action("step")
    async def step(self, event: Event, ctx: Context) -> None:
        ctx.output(event.attributes["number"])


def test_a_chain_of_actions_survives_in_order():
    survived = run_scenario_sync(
        Chained, lambda test: test.send(Event("start"), key="a"), crash="every-commit", in_order=True
    )
    assert [line[11] for line in survived.outcome["outputs [a]"]] == ["0", "1", "2"]


@tool(requires_approval=True)
async def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


class Payments(Agent):
    assistant = ChatModel("openai:gpt-5-mini", tools=[pay])

    @action("type == EventType.ApprovalRequestEvent")
    async def allow(self, event: ApprovalRequestEvent, ctx: Context) -> None:
        allowed = event.call.function.arguments["amount"] == 1
        ctx.send(ApprovalResponseEvent(request_id=event.request_id, token=event.token, approved=allowed))


def test_what_waits_for_people_survives_every_death():
    """The ids that a model gives its calls are random, too."""

    def scenario(test: SyncAgentTest) -> None:
        test.send(ChatRequestEvent(model="assistant", messages=[ChatMessage.user("pay")], id="c"), key="a")
        test.run()
        assert len(test.responses) == 1

    calls = [CallTool("pay", {"amount": 1}), CallTool("pay", {"amount": 2})]
    models = {"assistant": ScriptedModel(calls, "done")}
    survived = run_scenario_sync(Payments, scenario, crash="every-commit", models=models)
    assert len(survived.deaths) > 30
    assert "done" in str(survived.outcome["outputs [a]"])


class Hurried(Agent):
    """Does less from its second process on."""

    lives = 0

    def __init__(self) -> None:
        type(self).lives += 1

    @action("job", external=True)
    async def job(self, event: Event, ctx: Context) -> None:
        if type(self).lives == 1:
            ctx.send(Event("more"))

    @action("more")
    async def more(self, event: Event, ctx: Context) -> None: ...


def test_a_death_that_did_not_come_is_not_counted():
    survived = run_scenario_sync(Hurried, lambda test: test.send(Event("job"), key="a"), crash="every-commit")
    assert 0 < len(survived.deaths) < 2 * len(survived.commits)
