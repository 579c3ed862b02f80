"""The built-in ReAct agent: its plan, and what its two actions make of inputs and answers."""

import sys
import types
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from parkway.agents import (
    AgentError,
    ChatMessage,
    ChatModel,
    ChatResponseEvent,
    Event,
    InputEvent,
    OutputEvent,
    Prompt,
    ReActAgent,
    build_plan,
    definition_of,
    load_agent,
)
from parkway.schemas.events import ErrorInfo
from parkway.schemas.jsonio import loads
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Effects, Task


class Sum(BaseModel):
    result: int


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def model(seen: list[Any]) -> FunctionModel:
    def reply(messages: Any, info: Any) -> ModelResponse:
        seen.append([(part.part_kind, part.content) for message in messages for part in message.parts])
        return ModelResponse([TextPart('{"result": 3}')])

    return FunctionModel(reply)


async def run(agent: ReActAgent, event: Event) -> Effects:
    name = "start" if isinstance(event, InputEvent) else "stop"
    spec = definition_of(agent).action(name)
    assert spec is not None
    return await UserAction(agent, spec).handle(Task(loads(event.to_json()), 2**62))


async def through(agent: ReActAgent, given: Any) -> Effects:
    """From the input to the output, by way of the chat."""
    (request,) = (await run(agent, InputEvent(input=given))).events
    chat = ChatAction(definition_of(agent).chat_models)
    answered = await chat.handle(Task(loads(request.to_json()), 2**62))
    assert isinstance(answered.response, ChatResponseEvent)
    return await run(agent, answered.response)


def test_its_plan_has_two_actions_and_the_built_in_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("react_example")
    module.agent = ReActAgent(model="openai:gpt-5-mini", tools=[add])  # type: ignore[attr-defined]
    module.ReActAgent = ReActAgent  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "react_example", module)
    plan = build_plan(load_agent("react_example:agent"), "react_example:agent")
    assert [each.name for each in plan.actions] == ["start", "stop", "chat", "tool"]
    assert "_input_event" in plan.accepts
    with pytest.raises(AgentError, match=r"ReActAgent takes model: write agent = ReActAgent\(model=\.\.\.\)"):
        load_agent("react_example:ReActAgent")


def test_two_agents_share_nothing() -> None:
    one, other = ReActAgent(model="openai:b", tools=[add]), ReActAgent(model="openai:d")
    assert [definition_of(each).chat_models["assistant"].model for each in (one, other)] == ["openai:b", "openai:d"]
    assert list(definition_of(one).tools) == ["add"]
    assert definition_of(other).tools == {}
    assert isinstance(one, ReActAgent)


@pytest.mark.parametrize(
    ("prompt", "given", "asked"),
    [
        (None, "hi {x}", [("user-prompt", "hi {x}")]),
        (None, {"a": 1}, [("user-prompt", '{"a":1}')]),
        (None, 7, [("user-prompt", "7")]),
        ("What is {a} + {b}?", {"a": 1, "b": 2}, [("user-prompt", "What is 1 + 2?")]),
        ("Say {input}", "hi", [("user-prompt", "Say hi")]),
        ("Say {input}", [1], [("user-prompt", "Say [1]")]),
        (Prompt("Be brief."), "hi", [("system-prompt", "Be brief."), ("user-prompt", "hi")]),
        (
            Prompt([ChatMessage.system("In {language}."), ChatMessage.user("{question}")]),
            {"language": "Latin", "question": "quid?"},
            [("system-prompt", "In Latin."), ("user-prompt", "quid?")],
        ),
    ],
)
async def test_an_input_becomes_what_the_model_is_asked(prompt: Any, given: Any, asked: Any) -> None:
    seen: list[Any] = []
    effects = await through(ReActAgent(model=model(seen), prompt=prompt), given)
    assert seen == [asked]
    (output,) = effects.outputs
    assert isinstance(output, OutputEvent)
    assert output.output == '{"result": 3}'


@pytest.mark.parametrize("output_type", [Sum, Sum.model_json_schema()])
async def test_an_output_type_gives_json(output_type: Any) -> None:
    effects = await through(ReActAgent(model=model([]), output_type=output_type), "1 + 2")
    (output,) = effects.outputs
    assert isinstance(output, OutputEvent)
    assert output.output == {"result": 3}


async def test_a_chat_model_says_everything_else() -> None:
    agent = ReActAgent(model=ChatModel(model([]), output_type=Sum, max_tool_rounds=3, tools=[add]))
    (output,) = (await through(agent, "1 + 2")).outputs
    assert isinstance(output, OutputEvent)
    assert output.output == {"result": 3}
    with pytest.raises(AgentError, match="go into the ChatModel"):
        ReActAgent(model=ChatModel("openai:b"), tools=[add])
    with pytest.raises(AgentError, match="a Prompt itself, not its name"):
        ReActAgent(model=ChatModel("openai:b", prompt="triage"))


async def test_a_failed_chat_is_a_failure_and_no_output() -> None:
    failed = ChatResponseEvent(
        request_id="1",
        response=None,
        success=False,
        error=ErrorInfo(type="rate_limited", message="429"),
        user_context={"react": True},
    )
    effects = await run(ReActAgent(model=model([])), failed)
    assert effects.outputs == []
    assert effects.failure is not None
    assert "rate_limited" in effects.failure.message


def test_an_own_class_has_the_model_as_its_attribute() -> None:
    class Mine(ReActAgent):
        def redact(self, kind: str, content: Any) -> Any:
            return None

    agent = Mine(model="openai:b")
    assert isinstance(agent, Mine)
    assert definition_of(agent).chat_models["assistant"].model == "openai:b"
