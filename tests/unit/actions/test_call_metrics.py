"""What model calls, tool calls and attempts of users' handlers add to the metrics."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import REGISTRY
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from parkway.agents import Agent, ChatModel, Context, Event, Retry, action, tool
from parkway.agents.agent import definition_of
from parkway.schemas.events import ChatMessage, ChatRequestEvent, FunctionCall, ToolCall, ToolRequestEvent
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.tool import ToolAction
from parkway.workers.actions.user import UserAction
from parkway.workers.effects import Task

Grown = Callable[..., float]


@pytest.fixture
def grown() -> Grown:
    """By how much a sample has grown since."""

    def samples() -> dict[Any, float]:
        return {
            (one.name, frozenset(one.labels.items())): one.value for each in REGISTRY.collect() for one in each.samples
        }

    before = samples()

    def by(name: str, **labels: str) -> float:
        key = (name, frozenset(labels.items()))
        return samples().get(key, 0) - before.get(key, 0)

    return by


def task(event: Event) -> Task:
    return Task(event.to_dict(), int((time.time() + 60) * 1000))


async def test_model_calls_by_outcome_with_tokens_and_retries(grown: Grown) -> None:
    calls = 0

    def reply(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ModelHTTPError(503, "metered")
        return ModelResponse([TextPart("hi")], usage=RequestUsage(input_tokens=7, output_tokens=2))

    model = FunctionModel(reply, model_name="metered")
    chat = ChatAction({"assistant": ChatModel(model)}, backoff=Retry(backoff=0))
    effects = await chat.handle(task(ChatRequestEvent(model="assistant", messages=[ChatMessage.user("hello")])))
    assert effects.how() == "answered"
    label = model.model_id
    assert grown("parkway_model_call_seconds_count", model=label, outcome="ok") == 1
    assert grown("parkway_model_call_seconds_count", model=label, outcome="provider_error") == 1
    assert grown("parkway_model_retries_total", model=label) == 1
    assert grown("parkway_model_tokens_total", model=label, kind="input") == 7
    assert grown("parkway_model_tokens_total", model=label, kind="output") == 2


async def test_tool_calls_by_outcome(grown: Grown) -> None:
    @tool(timeout=0.01)
    async def metered(kind: str) -> str:
        """Does as it is told."""
        if kind == "failed":
            raise ValueError
        if kind == "timeout":
            await asyncio.Event().wait()
        return kind

    arguments = [{"kind": "ok"}, {"kind": "failed"}, {"kind": "timeout"}, {"number": 1}]
    calls = [
        ToolCall(id=f"c{index}", function=FunctionCall(name="metered", arguments=given))
        for index, given in enumerate(arguments)
    ]
    calls.append(ToolCall(id="x", function=FunctionCall(name="made-up", arguments={})))
    await ToolAction({"metered": metered}).handle(task(ToolRequestEvent(model="m", tool_calls=calls)))
    for outcome in ("ok", "failed", "timeout", "bad_arguments"):
        assert grown("parkway_tool_call_seconds_count", tool="metered", outcome=outcome) == 1
    assert grown("parkway_tool_call_seconds_count", tool="unknown", outcome="failed") == 1
    assert grown("parkway_tool_call_seconds_count", tool="made-up", outcome="failed") == 0


async def test_attempts_that_fail_are_counted_even_when_a_later_one_succeeds(grown: Grown) -> None:
    class Metered(Agent):
        @action("metered", retry=Retry(attempts=3, backoff=0))
        async def metered(self, event: Event, ctx: Context) -> None:
            if ctx.attempt < 3:
                raise ValueError

    spec = definition_of(Metered).action("metered")
    assert spec is not None
    now, attempts = task(Event(type="metered")), UserAction(Metered(), spec)
    now = replace(now, since=time.time_ns() // 1_000_000)
    effects = [await attempts.handle(replace(now, attempt=attempt)) for attempt in (1, 2, 3)]
    assert [one.again is not None for one in effects] == [True, True, False]
    assert effects[-1].failure is None
    assert grown("parkway_worker_attempts_failed_total", action="metered") == 2
