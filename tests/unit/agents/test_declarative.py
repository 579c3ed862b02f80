"""Agents in YAML: the same plan, resources and handlers as the class that says the same."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from parkway.agents import (
    Agent,
    AgentError,
    ChatModel,
    ChatResponseEvent,
    DecisionModel,
    MCPServer,
    Prompt,
    Sink,
    VectorStore,
    build_plan,
    definition_of,
    load_agent,
    running,
    tool,
)
from parkway.agents.action import ActionOptions
from parkway.agents.declarative import document_schema
from parkway.agents.declarative.spec import ActionSpec, ToolSpec
from parkway.agents.declarative.spec_resources import ChatModelSpec, DecisionModelSpec, MCPServerSpec, VectorStoreBase
from parkway.schemas.jsonio import loads
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task

HERE = Path(__file__).parent / "declared"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder elsewhere; modules that are imported meanwhile are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if not name.startswith(("parkway", "pydantic", "openai", "anthropic")):
            del sys.modules[name]


@pytest.fixture
def declared(folder: Path) -> type[Agent]:
    loaded = load_agent(str(HERE / "every.yaml"))
    assert isinstance(loaded, type)
    return loaded


@pytest.fixture
def written(declared: type[Agent]) -> type[Agent]:
    loaded = load_agent("declared_parts:Every")
    assert isinstance(loaded, type)
    return loaded


def test_the_plan_is_that_of_the_class(declared: type[Agent], written: type[Agent]) -> None:
    plan = build_plan(declared, "x:Every")
    assert plan == build_plan(written, "x:Every")
    assert [each.name for each in plan.actions][:4] == ["triage", "answer-it", "count", "refund"]
    assert [each.name for each in plan.actions][4:] == ["chat", "tool", "retrieval", "decision"]


def shown(value: Any) -> Any:
    """What an object says, deep enough to see a difference."""
    if isinstance(value, dict):
        return {name: shown(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if type(value).__module__.startswith(("parkway.agents.output_type", "parkway.agents.hashing_embedder")):
        return type(value).__name__
    if type(value).__module__.startswith("parkway.agents") and hasattr(value, "__dict__") and not callable(value):
        return {type(value).__name__: {name: shown(each) for name, each in vars(value).items() if name[0] != "_"}}
    return value


def test_resources_are_those_of_the_class(declared: type[Agent], written: type[Agent]) -> None:
    mine, theirs = definition_of(declared), definition_of(written)
    assert set(mine.resources) == set(theirs.resources)
    assert set(mine.tools) == {"lookup", "weather", "refund"}
    assert mine.tools["lookup"] is theirs.tools["lookup"]
    for name, other_tool in theirs.tools.items():
        assert mine.tools[name].parameters == other_tool.parameters
        assert mine.tools[name].injected == other_tool.injected
        assert (mine.tools[name].timeout, mine.tools[name].max_result_bytes) == (
            other_tool.timeout,
            other_tool.max_result_bytes,
        )
        assert vars(mine.tools[name].approval) == vars(other_tool.approval)
    for kind in (Prompt, VectorStore, DecisionModel, Sink):
        for name, resource in theirs.of(kind).items():
            if name not in ("rules", "judge", "routing"):  # compiled rows are compared below
                assert shown(mine.of(kind)[name]) == shown(resource), name
    for name, model in theirs.of(DecisionModel).items():
        other = mine.of(DecisionModel)[name]
        assert type(other) is type(model)
        assert other.questions == model.questions
        assert [str(each) if isinstance(each, str) else type(each) for each in other.sources] == [
            str(each) if isinstance(each, str) else type(each) for each in model.sources
        ]
    for name, chat in theirs.of(ChatModel).items():
        other_chat = mine.of(ChatModel)[name]
        assert [each.name for each in other_chat.tools] == [each.name for each in chat.tools]
        assert other_chat.output_type is not None
        assert chat.output_type is not None
        assert other_chat.output_type.schema == chat.output_type.schema
        members = {
            key: value for key, value in vars(chat).items() if key not in ("tools", "output_type", "mcp_servers")
        }
        assert {key: vars(other_chat)[key] for key in members} == members


def test_options_of_actions_are_those_of_the_class(declared: type[Agent], written: type[Agent]) -> None:
    for mine, theirs in zip(definition_of(declared).actions, definition_of(written).actions, strict=True):
        for name in ActionOptions.__dataclass_fields__:
            if name not in ("where", "name"):
                assert getattr(mine.options, name) == getattr(theirs.options, name), (mine.name, name)
        assert mine.where.startswith(f"{HERE}/every.yaml:")


async def test_handlers_run_with_and_without_self(declared: type[Agent]) -> None:
    one = declared()
    definition = definition_of(declared)

    async def handled(name: str, event: Any) -> Any:
        spec = definition.action(name)
        assert spec is not None
        sinks = {one.done: lambda value: (json.dumps(value).encode(), [])}  # type: ignore[attr-defined]
        return await UserAction(one, spec, sinks=sinks).handle(Task(event, int(time.time() * 1000) + 60_000))

    ticket = {"customer": "ada", "amount": 200, "text": "help"}
    asked = await handled("triage", {"id": "1", "type": "ticket", "attributes": ticket})
    (request,) = asked.events
    assert request.to_dict()["attributes"]["messages"][0]["content"] == "ada: help"
    response = {"role": "assistant", "content": '{"urgent": true, "reason": "on fire"}'}
    event = ChatResponseEvent(request_id=request.id, response=response, success=True, error=None)
    done = await handled("answer-it", loads(event.to_json()))
    assert done.failure is None
    assert [payload.topic for payload in done.payloads] == ["shop.done"]


def test_mcp_servers_are_those_of_the_class(
    declared: type[Agent], written: type[Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = definition_of(declared).of(MCPServer), definition_of(written).of(MCPServer)
    assert list(mine) == list(theirs) == ["git", "github"]
    assert mine["git"].transport == theirs["git"].transport
    for name, server in theirs.items():
        for member in ("prefix", "tools", "timeout", "connect_timeout", "max_result_bytes", "name"):
            assert getattr(mine[name], member) == getattr(server, member), (name, member)
        for tool_name in ("merge", "get_issue", "other"):
            assert vars(mine[name].approval(tool_name)) == vars(server.approval(tool_name))
    headers = mine["github"].transport.headers  # type: ignore[union-attr]
    assert callable(headers)  # nothing is read before a worker connects
    with pytest.raises(AgentError, match=r"mcp_servers\[github\]: headers: .*variable GITHUB_TOKEN is not set"):
        headers()
    monkeypatch.setenv("GITHUB_TOKEN", "t-1")
    assert headers() == {"Authorization": "Bearer t-1"}
    assert definition_of(declared).chat_models["assistant"].mcp_servers == tuple(mine.values())


async def test_a_model_of_a_function_answers(folder: Path) -> None:
    (folder / "scripts.py").write_text(
        "from pydantic_ai.models.test import TestModel\ndef scripted(): return TestModel(custom_output_text='hello')\n"
    )
    (folder / "agent.yaml").write_text(
        "agents: [{name: one, chat_model_setups: [{name: small, model: {function: scripts:scripted}}]}]"
    )
    models = definition_of(load_agent("agent.yaml")).chat_models
    request = {
        "id": "1",
        "type": "_chat_request_event",
        "attributes": {
            "model": "small",
            "messages": [{"role": "user", "content": "hi", "tool_calls": [], "extra_args": {}}],
            "prompt_args": {},
            "output_schema": None,
        },
    }
    response = (await ChatAction(models).handle(Task(request, int(time.time() * 1000) + 60_000))).response
    assert isinstance(response, ChatResponseEvent)
    assert response.response.content == "hello"


async def test_lifespan_and_redact_are_the_files(declared: type[Agent]) -> None:
    one: Any = declared()
    assert one.redact("model_call", {"secret": 1}) == {"kind": "model_call"}
    async with running(one):
        assert one.opened
    assert not one.opened


def test_a_variable_is_read_by_a_worker_only(declared: type[Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORDERS_DSN", raising=False)
    assert "ORDERS_DSN" in repr(definition_of(declared).of(VectorStore)["orders_store"])
    assert "ORDERS_DSN" not in build_plan(declared, "x:y").to_json().decode()


SEVERAL = """
agents:
  - name: one
    actions: [{name: start, function: "handlers:start", trigger_conditions: [input]}, shared]
  - name: two
    chat_model_setups: [{name: small, model: openai:gpt-5-mini}]
    actions: [shared]
chat_model_setups:
  - {name: small, model: openai:gpt-5}
  - {name: big, model: openai:gpt-5}
actions:
  - {name: shared, function: "handlers:start", trigger_conditions: ["'input'"]}
"""


def test_several_agents_share_what_stands_beside_them(folder: Path) -> None:
    (folder / "handlers.py").write_text("def start(event, ctx): ...\n")
    (folder / "agents.yml").write_text(SEVERAL)
    one, two = load_agent("agents.yml:one"), load_agent("./agents.yml:two")
    assert [each.options.triggers for each in definition_of(one).actions] == [("_input_event",), ("'input'",)]
    assert {name: model.model for name, model in definition_of(one).chat_models.items()} == {
        "small": "openai:gpt-5",
        "big": "openai:gpt-5",
    }
    assert definition_of(two).chat_models["small"].model == "openai:gpt-5-mini"
    assert [each.name for each in build_plan(two, "x:two").actions] == ["shared", "chat"]


def test_the_schema_for_editors_is_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    shipped = json.loads((ROOT / "docs/agents/agent.schema.json").read_text())
    assert shipped == document_schema(), "parkway plan schema > docs/agents/agent.schema.json"
    Draft202012Validator.check_schema(shipped)
    validator = Draft202012Validator(shipped)
    validator.validate(yaml.safe_load((HERE / "every.yaml").read_text().replace("on: [", "'on': [")))
    assert not validator.is_valid({"agents": [{"name": "a", "actons": []}]})
    assert not validator.is_valid({"agents": []})


def test_every_option_of_a_class_is_a_member() -> None:
    """A new option of ChatModel or @action that nobody adds here is missed."""
    from parkway.agents.action import action

    assert action.__kwdefaults__.keys() - {"where"} <= ActionSpec.model_fields.keys()
    assert ChatModel.__init__.__kwdefaults__.keys() <= ChatModelSpec.model_fields.keys()
    assert tool.__kwdefaults__.keys() <= ToolSpec.model_fields.keys()
    assert MCPServer.__init__.__kwdefaults__.keys() <= MCPServerSpec.model_fields.keys()
    assert VectorStore.__init__.__kwdefaults__.keys() <= VectorStoreBase.model_fields.keys()
    assert DecisionModel.__init__.__kwdefaults__.keys() <= DecisionModelSpec.model_fields.keys()
