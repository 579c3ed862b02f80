"""State, steps and sinks of user actions, in memory and through every point of death."""

import json

from parkway.agents import Agent, Context, Event, Sink, action
from parkway.testing import SyncAgentTest, run_scenario_sync

CALLS: list[str] = []


class Counts(Agent):
    bills = Sink("shop.bills")

    @action("order", external=True, state=True, steps=True)
    async def count(self, event: Event, ctx: Context) -> None:
        ctx.state["seen"] = ctx.state.get("seen", 0) + 1
        price = await ctx.step("price", lambda: self.price(event.attributes["item"]))
        ctx.output({"seen": ctx.state["seen"], "price": price})
        ctx.output({"bill": price}, to=self.bills)

    def price(self, item: str) -> int:
        CALLS.append(item)
        return len(item)


def scenario(test: SyncAgentTest) -> None:
    for item in ("a", "bb", "ccc"):
        test.send(Event("order", {"item": item}), key="k")
    test.send(Event("order", {"item": "dddd"}), key="other")
    test.run()


def test_state_steps_and_sinks():
    with SyncAgentTest(Counts) as test:
        scenario(test)
        assert test.outputs_of("k") == [{"seen": seen, "price": seen} for seen in (1, 2, 3)]
        assert test.state == {"count/k": {"seen": 3}, "count/other": {"seen": 1}}
        bills = [json.loads(one.value) for one in test.records("shop.bills") if one.key == b"k"]
        assert bills == [{"bill": 1}, {"bill": 2}, {"bill": 3}]
        assert test.parked == []
        assert test.trace.all("shop.bills")[0].text == 'shop.bills {"bill":1}'


def test_they_survive_every_point_of_death_and_a_step_that_is_committed_is_not_done_again():
    CALLS.clear()
    survived = run_scenario_sync(Counts, scenario, crash="every-commit")
    assert len(survived.deaths) > 10
    assert '"seen": 3' in survived.outcome["outputs [k]"][-1]
    assert survived.outcome["state"] == ['count/k: {"seen": 3}', 'count/other: {"seen": 1}']
    # Four orders a run; again only where the process died before the step's result was committed.
    before = sum(death.side == "before" for death in survived.deaths)
    runs = 2 + len(survived.deaths)  # the first is without a death, and so is the last
    assert 4 * runs < len(CALLS) <= 4 * (runs + before)
