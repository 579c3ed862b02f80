"""docs/agents/chat.md: what it prints runs."""

import time
from pathlib import Path
from typing import Any

import pytest
from doc_pages import run_page
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from parkway.agents import build_plan, definition_of, load_agent
from parkway.schemas.jsonio import loads
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task

PAGE = "docs/agents/chat.md"


async def test_the_first_example_runs_from_ticket_to_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_page(PAGE, tmp_path, monkeypatch)
    agent = load_agent("chat_page:Support")
    assert [each.name for each in build_plan(agent, "chat_page:Support").actions] == ["triage", "done", "chat"]
    reply = ModelResponse([TextPart('{"urgent": true, "reason": "on fire"}')])
    names["Support"].triager.model = FunctionModel(lambda *_: reply)
    names["Support"].triager.fallbacks = ()
    deadline = int(time.time() * 1000) + 60_000

    async def handled(name: str, event: Any) -> Any:
        spec = definition_of(agent).action(name)
        assert spec is not None
        return await UserAction(names["Support"](), spec).handle(Task(event, deadline))

    asked = await handled("triage", {"id": "1", "type": "ticket", "attributes": {"text": "help"}})
    (request,) = asked.events
    answered = await ChatAction(definition_of(agent).chat_models).handle(Task(loads(request.to_json()), deadline))
    assert answered.response is not None
    done = await handled("done", loads(answered.response.to_json()))
    assert [output.attributes["output"] for output in done.outputs] == [{"urgent": True, "reason": "on fire"}]


def test_the_other_agents_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(PAGE, tmp_path, monkeypatch)
    for name, actions in (
        ("chat_page:Prompted", ["triage", "chat"]),
        ("chat_page:Routed", ["chat", "tool"]),
        ("calculator:agent", ["start", "stop", "chat", "tool"]),
    ):
        assert [each.name for each in build_plan(load_agent(name), name).actions] == actions
