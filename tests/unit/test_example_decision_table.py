"""The example: its table, its plan, and its tickets on their way through its actions."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from parkway.agents import Agent, build_plan, definition_of, load_agent
from parkway.agents.decision_model import DecisionModel
from parkway.schemas.events import Event
from parkway.workers.actions.decision import DecisionAction
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task

ROOT = Path(__file__).parents[2]
SOURCE = "examples.decision_table.agent:Routing"
TICKETS = [json.loads(line) for line in (ROOT / "examples/decision_table/tickets.jsonl").read_text().splitlines()]


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> type[Agent]:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.delenv("ROUTER_MODEL", raising=False)
    loaded = load_agent(SOURCE)
    assert isinstance(loaded, type)
    return loaded


def task(event: Event) -> Task:
    return Task(event.to_dict(), int((time.time() + 30) * 1000))


async def routed(agent: type[Agent], ticket: Any) -> Any:
    definition, one = definition_of(agent), agent()
    ask, route = (UserAction(one, spec) for spec in definition.actions)
    (request,) = (await ask.handle(task(Event(type="ticket", attributes=ticket)))).events
    response = (await DecisionAction(definition.of(DecisionModel)).handle(task(request))).response
    assert response is not None
    (output,) = (await route.handle(task(response))).outputs
    return output.attributes["output"]


def test_the_plan(agent: type[Agent]) -> None:
    plan = build_plan(agent, SOURCE)
    assert [each.name for each in plan.actions] == ["ask", "route", "decision"]
    assert "ticket" in plan.accepts


async def test_where_the_tickets_go(agent: type[Agent]) -> None:
    outputs = [await routed(agent, ticket) for ticket in TICKETS]
    assert [(each["customer"], each["queue"], each["urgent"], each["why"]) for each in outputs] == [
        ("ada", "key-accounts", True, "line 2"),
        ("bob", "legal", True, "line 3"),
        ("cyd", "billing", False, "line 4"),
        ("dan", "shipping", True, "line 5"),
        ("eve", "shipping", False, "line 6"),
        ("fay", "other", False, "default"),
    ]


async def test_a_ticket_that_the_table_cannot_decide_is_put_out_as_such(agent: type[Agent]) -> None:
    output = await routed(agent, {"customer": "gus", "text": "Where?", "order": {"number": "1"}})
    assert output["queue"] == "undecided"
    assert "line 5 cannot be evaluated" in output["why"]


def test_the_readme_says_what_runs(agent: type[Agent]) -> None:
    readme = (ROOT / "examples/decision_table/README.md").read_text()
    assert SOURCE in readme
    table = definition_of(agent).of(DecisionModel)["router"].rules
    assert all(
        text in {row.condition.text for row in table.rows} for text in ["tier == 'enterprise' && amount > 10000"]
    )
