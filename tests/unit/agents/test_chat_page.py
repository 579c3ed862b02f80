"""docs/agents/chat.md: what it prints runs."""

import re
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from parkway.agents import build_plan, definition_of, load_agent
from parkway.schemas.jsonio import loads
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task

PAGE = (Path(__file__).parents[3] / "docs/agents/chat.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def module_of(monkeypatch: pytest.MonkeyPatch, name: str, source: str) -> types.ModuleType:
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    return module


async def test_the_first_example_runs_from_ticket_to_output(monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of(monkeypatch, "page_example", BLOCKS[0])
    agent = load_agent("page_example:Support")
    assert [each.name for each in build_plan(agent, "page_example:Support").actions] == ["triage", "done", "chat"]
    reply = ModelResponse([TextPart('{"urgent": true, "reason": "on fire"}')])
    module.Support.triager.model = FunctionModel(lambda *_: reply)
    module.Support.triager.fallbacks = ()
    deadline = int(time.time() * 1000) + 60_000

    async def handled(name: str, event: Any) -> Any:
        spec = definition_of(agent).action(name)
        assert spec is not None
        return await UserAction(module.Support(), spec).handle(Task(event, deadline))

    asked = await handled("triage", {"id": "1", "type": "ticket", "attributes": {"text": "help"}})
    (request,) = asked.events
    answered = await ChatAction(definition_of(agent).chat_models).handle(Task(loads(request.to_json()), deadline))
    assert answered.response is not None
    done = await handled("done", loads(answered.response.to_json()))
    assert [output.attributes["output"] for output in done.outputs] == [{"urgent": True, "reason": "on fire"}]


@pytest.mark.parametrize("start", ["class Support(Agent):\n    triage_prompt", "class Support(Agent):\n    small"])
def test_the_other_agents_load(monkeypatch: pytest.MonkeyPatch, start: str) -> None:
    (block,) = [block for block in BLOCKS if block.startswith(start)]
    head = "from parkway.agents import *\n@tool\ndef lookup(customer: str) -> str: return customer\n"
    module_of(monkeypatch, "page_agent", head + block.split("\n...\n")[0])
    assert build_plan(load_agent("page_agent:Support"), "page_agent:Support").actions


def test_the_react_agent_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = [block for block in BLOCKS if block.startswith("# calculator.py")]
    module_of(monkeypatch, "calculator", block)
    plan = build_plan(load_agent("calculator:agent"), "calculator:agent")
    assert [each.name for each in plan.actions] == ["start", "stop", "chat", "tool"]
