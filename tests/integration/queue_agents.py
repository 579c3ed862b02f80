"""Agents of the tests of retries, limits and backlogs. The workers import this module by name."""

import asyncio
import os
import time

from agents import Order, lookup, note, rounds
from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from parkway.agents import (
    Agent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    ChatResponseEvent,
    Context,
    Retry,
    ToolRequestEvent,
    ToolResponseEvent,
    action,
    tool,
)


class Flaky(BaseModel):
    """An order whose first `failures` attempts fail."""

    number: int
    failures: int = 0
    wait: float = 0.0


class Retries(Agent):
    """What fails and is tried again."""

    @action("flaky", external=True, concurrency=1, retry=Retry(attempts=4, on=(ValueError,), backoff=0.5, jitter=0))
    async def flaky(self, order: Flaky, ctx: Context) -> None:
        note("flaky", f"{order.number}/{ctx.attempt}")
        await asyncio.sleep(order.wait)
        if ctx.attempt <= order.failures:
            raise ValueError(f"secret {order.number}")
        ctx.output({"number": order.number, "attempt": ctx.attempt})

    @action("patient", external=True, retry=Retry(attempts=6, backoff=2, factor=1, jitter=0))
    async def patient(self, order: Flaky, ctx: Context) -> None:
        note("patient", str(ctx.attempt))
        raise RuntimeError("always")

    @action("slowly", external=True, retry=Retry(attempts=3, backoff=60))
    async def slowly(self, order: Flaky, ctx: Context) -> None:
        note("slowly", f"{order.number}/{ctx.attempt}")
        if ctx.attempt <= order.failures:
            raise RuntimeError("not yet")
        ctx.output({"number": order.number})

    @action("timed", external=True, timeout=0.3, retry=Retry(attempts=2, on=(TimeoutError,), backoff=0))
    async def timed(self, order: Order, ctx: Context) -> None:
        note("timed", str(order.number))
        await asyncio.sleep(order.wait)
        ctx.output({"number": order.number})

    @action("urgent", external=True)
    def urgent(self, order: Order, ctx: Context) -> None:
        """Sync: it cannot be stopped, and what it sends too late is refused."""
        note("urgent", str(ctx.deadline.timestamp() if ctx.deadline is not None else None))
        time.sleep(order.wait)
        ctx.output({"number": order.number})


class Limited(Agent):
    """A rate of the whole installation."""

    @action("limited", external=True, order="unordered", rate="10/s")
    async def limited(self, order: Order, ctx: Context) -> None:
        note("limited", f"{time.time()} {os.getpid()}")
        ctx.output({"number": order.number})


class Steady(Agent):
    """One at a time, with the time of each start."""

    @action("steady", external=True, order="unordered", concurrency=1)
    async def steady(self, order: Order, ctx: Context) -> None:
        await asyncio.sleep(order.wait)
        note("steady", str(time.time()))


class LimitedChats(Agent):
    """Two models; one may be called twice a second, the other at will."""

    slow = ChatModel(lambda: FunctionModel(rounds), tools=[lookup], requests_per_minute=120)
    fast = ChatModel(lambda: FunctionModel(rounds), tools=[lookup])


@tool
async def delegate(question: str) -> str:
    """Asks another chat. Its calls are handled by `Nested.take_over`; the tool action does not run here."""
    raise NotImplementedError(question)


async def asks_another(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    returned = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    if returned:
        return ModelResponse(parts=[TextPart(f"heard {returned[0].content}")])
    return ModelResponse(parts=[ToolCallPart("delegate", {"question": "0 rounds for 7"})])


class Nested(Agent):
    """A chat whose tool is another chat of the same action."""

    outer = ChatModel(lambda: FunctionModel(asks_another), tools=[delegate])
    inner = ChatModel(lambda: FunctionModel(rounds))

    @action("_tool_request_event")
    async def take_over(self, event: ToolRequestEvent, ctx: Context) -> None:
        call = event.tool_calls[0]
        context = {"answers": event.id, "call": call.id}
        question = ChatMessage.user(str(call.function.arguments["question"]))
        ctx.send(ChatRequestEvent(model="inner", messages=[question], user_context=context))

    @action("type == EventType.ChatResponseEvent && has(user_context.answers)")
    async def hand_back(self, event: ChatResponseEvent, ctx: Context) -> None:
        context = event.user_context
        ctx.send(
            ToolResponseEvent(
                request_id=context["answers"],
                responses={context["call"]: event.response.content},
                success={context["call"]: True},
                error={},
                external_ids={context["call"]: None},
            )
        )
