"""Every word that `error.type` of a chat can be, reached by something that people run into."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from chats import ask, calls, chat_action, failure_of, lookup_then, new, response_of, resume, says
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError, ModelRateLimitError
from pydantic_ai.messages import ModelResponse

from parkway.agents import UsageLimits
from parkway.router.routing import Routing
from parkway.runtime.records import Incoming
from parkway.schemas.errors import ErrorType
from parkway.schemas.events import ChatResponseEvent, Event
from parkway.schemas.plan import ActionPlan, Plan
from parkway.schemas.topics import Topics
from parkway.workers.effects import Effects


def raises(error: Exception) -> Any:
    def reply(*_: Any) -> ModelResponse:
        raise error

    return reply


async def hangs(*_: Any) -> ModelResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def chat(reply: Any, seconds: float = 60, request: Event | None = None, **options: Any) -> Effects:
    return await chat_action(reply, **{"max_retries": 0, **options}).handle(new(request or ask(), seconds))


async def too_many_rounds() -> Effects:
    action, task = chat_action(lambda *_: calls("ada"), max_tool_rounds=1), new(ask())
    return await action.handle(resume(task, await action.handle(task)))


async def cancelled() -> Effects:
    return chat_action(lookup_then("x")).cancelled(new(ask()), None)


async def refused_by_the_router() -> Effects:
    plan = Plan(agent="a", actions=(ActionPlan(name="other", triggers=("other",)),), accepts=("_chat_request_event",))
    record = Incoming("ns.requests", 0, 0, 0, None, ask().to_json(), [])
    (answer,) = Routing(plan, Topics("ns"), partitions=1).route(record)
    response = Event.parse(answer.value or b"")
    assert isinstance(response, ChatResponseEvent)
    return Effects(response=response)


REACHED: Final[dict[ErrorType, Callable[[], Awaitable[Effects]]]] = {
    ErrorType.PROVIDER_ERROR: lambda: chat(raises(ModelHTTPError(500, "m"))),
    ErrorType.RATE_LIMITED: lambda: chat(raises(ModelRateLimitError("m", "slow down"))),
    ErrorType.TIMEOUT: lambda: chat(hangs, timeout=0.05),
    ErrorType.CONTEXT_TOO_LONG: lambda: chat(raises(ModelContextWindowExceededError("m", "too long"))),
    ErrorType.REFUSED: lambda: chat(lambda *_: ModelResponse([], finish_reason="content_filter")),
    ErrorType.OUTPUT_INVALID: lambda: chat(lambda *_: says("no"), output_type={"type": "object"}),
    ErrorType.TOOL_ROUNDS_EXCEEDED: too_many_rounds,
    ErrorType.PARKED_TOO_LARGE: lambda: chat(lookup_then("x"), max_state_bytes=100),
    ErrorType.DEADLINE_EXCEEDED: lambda: chat(hangs, seconds=0.1),
    ErrorType.CANCELLED: cancelled,
    ErrorType.BUDGET_EXCEEDED: lambda: chat(lambda *_: says("x"), usage_limits=UsageLimits(input_tokens_limit=1)),
    ErrorType.UNKNOWN_MODEL: lambda: chat(lambda *_: says("x"), request=ask(model="asistant")),
    ErrorType.BAD_REQUEST: lambda: chat(lambda *_: says("x"), request=ask(messages=[])),
    ErrorType.NO_ACTION: refused_by_the_router,
    ErrorType.INTERNAL: lambda: chat(raises(RuntimeError("a bug"))),
}


def test_there_is_no_other() -> None:
    assert set(REACHED) == set(ErrorType)


@pytest.mark.parametrize("kind", REACHED)
async def test_it_is_reached_and_says_why(kind: ErrorType) -> None:
    effects = await REACHED[kind]()
    assert failure_of(effects, kind)
    assert not response_of(effects).success
