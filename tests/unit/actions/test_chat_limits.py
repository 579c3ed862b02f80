"""A chat model's limits: who may start, what a call costs, and what is said to a chat that waited too long."""

import asyncio
import time
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from parkway.agents import ChatModel, Retry
from parkway.schemas.events import ChatMessage, ChatRequestEvent
from parkway.workers.actions.chat import ChatAction
from parkway.workers.effects import Task
from parkway.workers.limiter import Limiter
from parkway.workers.model_limits import limiter_of
from parkway.workers.share import Share

ALL = Share(frozenset({0}), 1)


def make(reply: Any, **options: Any) -> tuple[ChatAction, Limiter]:
    chat = ChatModel(FunctionModel(reply), **options)
    limiter = limiter_of("assistant", chat)
    assert limiter is not None
    limiter.own(ALL)
    return ChatAction({"assistant": chat}, limiters={"assistant": limiter}, backoff=Retry(backoff=0)), limiter


def task(model: str = "assistant", **fields: Any) -> Task:
    request = ChatRequestEvent(model=model, messages=[ChatMessage.user("hi")])
    return Task(request.to_dict(), int((time.time() + 60) * 1000), **fields)


async def answer(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("yes")], usage=RequestUsage(input_tokens=900, output_tokens=100))


def test_a_model_without_limits_has_no_limiter() -> None:
    assert limiter_of("assistant", ChatModel("test")) is None


async def test_a_request_is_limited_by_the_model_that_it_names() -> None:
    action, limiter = make(answer, concurrency=1)
    assert action.limiter(task()) is limiter
    assert action.limiter(task("other")) is None
    assert action.limiter(Task({"id": "1", "type": "_chat_request_event", "attributes": {"model": ["x"]}}, 0)) is None


async def test_the_first_call_uses_the_permit_and_ends_it() -> None:
    action, limiter = make(answer, concurrency=1)
    effects = await asyncio.wait_for(action.handle(task(permit=limiter.try_take())), 5)
    assert effects.response is not None
    assert limiter.try_take() is not None


async def test_what_a_call_cost_is_reckoned() -> None:
    action, limiter = make(answer, tokens_per_minute=60_000)
    await action.handle(task(permit=limiter.try_take()))
    assert limiter.try_take() is None  # in debt: a second's worth


async def test_retries_wait_for_a_permit_of_their_own() -> None:
    calls: list[int] = []

    async def fails_once(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        calls.append(1)
        if len(calls) == 1:
            raise ConnectionError
        return await answer(messages, info)

    action, limiter = make(fails_once, concurrency=1)
    first = limiter.try_take()
    effects = await asyncio.wait_for(action.handle(task(permit=first)), 5)
    assert effects.response is not None
    assert len(calls) == 2
    assert limiter.try_take() is not None


async def test_what_waited_too_long_is_told_for_what() -> None:
    action, _ = make(answer, requests_per_minute=1)
    response = action.expired(task(held_up_by="chat model assistant")).response
    assert response is not None
    assert "it waited for the limits of chat model assistant" in response.to_dict()["attributes"]["error"]["message"]
