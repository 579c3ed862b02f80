"""The Python of docs/agents/actions.md runs, builds plans, and does what the page says."""

from pathlib import Path
from typing import Any

import pytest
from doc_pages import run_page, text_of

from parkway.agents import Agent, build_plan, definition_of
from parkway.schemas.state import StateRecord
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Effects, Task

PAGE = text_of("docs/agents/actions.md")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return run_page("docs/agents/actions.md", tmp_path, monkeypatch)


def test_every_agent_builds(page: dict[str, Any]) -> None:
    agents = [
        each for each in page.values() if isinstance(each, type) and issubclass(each, Agent) and each is not Agent
    ]
    assert [each.__name__ for each in agents] == ["Shop", "Careful", "Banking", "Payments", "Customers", "Announces"]
    plans = {each.__name__: build_plan(each, f"page:{each.__name__}") for each in agents}
    assert plans["Payments"].actions[0].keeps_steps
    assert plans["Customers"].actions[0].keeps_state
    assert [sink.format for sink in plans["Announces"].sinks] == ["json", "cloudevents"]


async def handled(agent: type[Agent], name: str, state: bytes | None = None) -> Effects:
    code = UserAction(agent(), definition_of(agent).action(name))
    attributes = {"order_id": "o-1", "amount": 120}
    event = {"id": "e", "type": "order", "attributes": attributes}
    return await code.handle(Task(event, 0, record_key=b"customer-7", state=state, since=2**50))


async def test_the_first_handler_and_the_one_with_state(page: dict[str, Any]) -> None:
    first = await handled(page["Shop"], "check")
    assert first.outputs[0].attributes == {"output": {"order": "o-1", "ok": True}}
    before = StateRecord(build="b", action="count", written_by="t/0/0", state={"orders": 2, "spent": 30}).to_json()
    second = await handled(page["Customers"], "count", before)
    assert second.state == {"orders": 3, "spent": 150.0}


def test_what_the_page_says_of_errors_is_said() -> None:
    code = "".join(path.read_text() for path in (Path(__file__).parents[3] / "workers/parkway/agents").glob("*.py"))
    told = PAGE.split("| it says | do |")[1]
    for said in ("stands in this handler twice", "is no plain JSON", "in a sync handler: call ctx.step_sync"):
        assert said in told
        assert said in code
