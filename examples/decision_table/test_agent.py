"""The agent in memory, with the real router and actions: `pytest examples/decision_table`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from parkway.agents import Agent, build_plan, load_agent
from parkway.testing import AgentTest

TICKETS = [json.loads(line) for line in Path(__file__).with_name("tickets.jsonl").read_text().splitlines()]


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> type[Agent]:
    monkeypatch.delenv("PARKWAY_MODEL", raising=False)
    monkeypatch.delitem(sys.modules, "examples.decision_table.agent", raising=False)  # it reads the variable once
    loaded = load_agent("examples.decision_table.agent:Routing")
    assert isinstance(loaded, type)
    return loaded


async def routed(agent: type[Agent], *tickets: Any) -> list[Any]:
    async with AgentTest(agent) as test:
        for ticket in tickets:
            await test.send({"type": "ticket", "attributes": ticket}, key="all")
        await test.run()
        assert test.dlq == []
        return test.outputs


async def test_where_the_tickets_go(agent: type[Agent]) -> None:
    outputs = await routed(agent, *TICKETS)
    found = {each["customer"]: (each["queue"], each["urgent"], each["why"]) for each in outputs}
    assert found == {
        "ada": ("key-accounts", True, "line 2"),
        "bob": ("legal", True, "line 3"),
        "cyd": ("billing", False, "line 4"),
        "dan": ("shipping", True, "line 5"),
        "eve": ("shipping", False, "line 6"),
        "fay": ("other", False, "default"),
    }


async def test_a_ticket_that_the_table_cannot_decide_is_put_out_as_such(agent: type[Agent]) -> None:
    (output,) = await routed(agent, {"customer": "gus", "text": "Where?", "order": {"number": "1"}})
    assert output["queue"] == "undecided"
    assert "line 5 cannot be evaluated" in output["why"]


def test_the_plan(agent: type[Agent]) -> None:
    plan = build_plan(agent, "routing")
    assert [each.name for each in plan.actions] == ["ask", "route", "decision"]
    assert "ticket" in plan.accepts
