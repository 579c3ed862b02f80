"""Other resources than chat models, through the harness."""

from parkway.agents import Agent, Context, DecisionRequestEvent, DecisionResponseEvent, DecisionTable, Event, action
from parkway.testing import SyncAgentTest, run_scenario_sync


class Routing(Agent):
    queue = DecisionTable(
        [{"when": "amount > 1000", "queue": "manager"}, {"when": "amount > 10", "queue": "billing"}],
        default={"queue": "other"},
    )

    @action("ticket", external=True)
    async def ask(self, event: Event, ctx: Context) -> None:
        ctx.send(DecisionRequestEvent(model="queue", state=event.attributes, user_context={"of": ctx.event.id}))

    @action("type == EventType.DecisionResponseEvent && has(user_context.of)")
    async def routed(self, event: DecisionResponseEvent, ctx: Context) -> None:
        assert event.user_context is not None
        ctx.output([event.user_context["of"], event.choice("queue").choice])


def scenario(test: SyncAgentTest) -> None:
    for number, amount in enumerate((5_000, 50, 5)):
        test.send(Event("ticket", {"amount": amount}, id=f"t-{number}"), key=f"k{number}")
    test.run()


def test_decisions_and_their_user_context():
    with SyncAgentTest(Routing) as test:
        scenario(test)
        assert sorted(test.outputs) == [["t-0", "manager"], ["t-1", "billing"], ["t-2", "other"]]
        assert test.dlq == []
        assert [entry.kind for entry in test.journal] == ["decision"] * 3
        (first, *_) = [line.strip() for line in test.trace.lines if "_decision_response_event" in line]
        assert first == '_decision_response_event {"queue":"manager"}'


def test_another_table_in_the_place_of_the_agent_s_own():
    other = DecisionTable([{"when": "amount > 1", "queue": "mine"}], default={"queue": "nobody"})
    with SyncAgentTest(Routing, resources={"queue": other}) as test:
        scenario(test)
        assert {queue for _, queue in test.outputs} == {"mine"}
    assert Routing.queue is not other


def test_decisions_survive_every_point_of_death():
    survived = run_scenario_sync(Routing, scenario, crash="every-commit")
    assert len(survived.deaths) > 20
    assert len(survived.outcome) == 3
