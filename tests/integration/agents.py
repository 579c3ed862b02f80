"""Agents of the integration tests. The workers import this module by name."""

import asyncio
import logging
import os
import time
from pathlib import Path

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from parkway.agents import (
    Agent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    ChatResponseEvent,
    Context,
    Event,
    action,
    tool,
)


def note(name: str, text: str) -> None:
    """Leave a trace outside Kafka: side effects may happen again after a crash, and tests count them."""
    folder = os.environ.get("TEST_NOTES")
    if folder:
        with (Path(folder) / f"{name}.notes").open("a") as file:
            file.write(text + "\n")


class Order(BaseModel):
    number: int
    wait: float = 0.0


class Orders(Agent):
    """User actions only."""

    @action("order", external=True, order="unordered")
    async def process(self, order: Order, ctx: Context) -> None:
        note("process", str(order.number))
        await asyncio.sleep(order.wait)
        ctx.output({"number": order.number})

    @action("step", external=True)
    async def step(self, order: Order, ctx: Context) -> None:
        """One record of a key at a time."""
        await asyncio.sleep(order.wait)
        ctx.output({"number": order.number})

    @action("slow-sync", external=True, order="unordered")
    def slow_sync(self, order: Order, ctx: Context) -> None:
        note("slow-sync", str(order.number))
        time.sleep(order.wait)
        ctx.output({"number": order.number})

    @action("broken", external=True)
    async def broken(self, event: Event, ctx: Context) -> None:
        ctx.send(Event(type="never-seen"))
        raise ValueError(f"secret {event.id}")

    @action("again", external=True)
    async def again(self, event: Event, ctx: Context) -> None:
        """Triggers itself."""
        ctx.send(Event(type="again"))


@tool
async def lookup(number: int) -> dict[str, int]:
    """Looks an order up."""
    note("lookup", str(number))
    await asyncio.sleep(float(os.environ.get("TEST_TOOL_SECONDS", "0.02")))
    return {"number": number, "price": number * 10}


async def rounds(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A rule, no model: `<n> rounds for <x>` asks the tool n times, then answers with what it saw."""
    note("model", "call")
    await asyncio.sleep(float(os.environ.get("TEST_MODEL_SECONDS", "0.02")))
    asked = next(part.content for message in messages for part in message.parts if part.part_kind == "user-prompt")
    wanted, _, number = str(asked).partition(" rounds for ")
    seen = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if len(seen) < int(wanted):
        return ModelResponse(parts=[ToolCallPart("lookup", {"number": int(number) + len(seen)})])
    return ModelResponse(parts=[TextPart(f"{number}: {seen}")])


class Chats(Agent):
    """Chats with tool rounds, asked by an action and by producers."""

    assistant = ChatModel(lambda: FunctionModel(rounds), tools=[lookup])

    @action("question", external=True)
    async def ask(self, event: Event, ctx: Context) -> None:
        text = f"{event.attributes['rounds']} rounds for {event.attributes['number']}"
        context = {"number": event.attributes["number"]}
        ctx.send(ChatRequestEvent(model="assistant", messages=[ChatMessage.user(text)], user_context=context))

    @action("type == EventType.ChatResponseEvent && has(user_context.number)")
    async def answer(self, event: ChatResponseEvent, ctx: Context) -> None:
        text = event.response.content if event.success else str(event.error)
        ctx.output({"number": event.user_context["number"], "success": event.success, "text": text})


class Large(Agent):
    """Outputs of any size."""

    @action("make", external=True)
    async def make(self, event: Event, ctx: Context) -> None:
        ctx.output("x" * event.attributes["size"])

    @action("burst", external=True)
    async def burst(self, event: Event, ctx: Context) -> None:
        ctx.output("x" * event.attributes["size"])
        for number in range(event.attributes["count"]):
            ctx.output(number)


class Replies(Agent):
    """Chats only."""

    assistant = ChatModel(lambda: FunctionModel(rounds), tools=[lookup])


async def cancels(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A provider's client that lets a CancelledError of its own out."""
    raise asyncio.CancelledError


class BaseError(BaseException):
    """Nothing that `except Exception` catches."""


class Raises(Agent):
    """Whatever can be raised."""

    cancels = ChatModel(lambda: FunctionModel(cancels))

    @action("raise", external=True)
    async def raise_it(self, event: Event, ctx: Context) -> None:
        raise {"cancelled": asyncio.CancelledError, "exit": SystemExit, "base": BaseError}[event.attributes["kind"]]

    @action("order", external=True)
    async def process(self, order: Order, ctx: Context) -> None:
        ctx.output({"number": order.number})


class Routes(Agent):
    """Only its plan is used, by routers (routed.py)."""

    @action("number", external=True)
    async def all(self, event: Event, ctx: Context) -> None:
        raise NotImplementedError

    @action("type == 'number' && number % 2 == 0")
    async def even(self, event: Event, ctx: Context) -> None:
        raise NotImplementedError

    @action("type == 'number' && number % 3 == 0")
    async def third(self, event: Event, ctx: Context) -> None:
        raise NotImplementedError


class Gates(Agent):
    """Calls that wait for each other outside Kafka."""

    @action("order", external=True, order="unordered")
    async def process(self, order: Order, ctx: Context) -> None:
        """A record with `wait` runs until the file `open` is there."""
        if order.wait:
            note("process", str(order.number))
            while not (Path(os.environ["TEST_NOTES"]) / "open").exists():  # noqa: ASYNC110  a test's gate
                await asyncio.sleep(0.05)
        ctx.output({"number": order.number})


class Logs(Agent):
    """What users write with `logging`."""

    @action("say", external=True)
    async def say(self, event: Event, ctx: Context) -> None:
        logging.getLogger(__name__).info("a handler says")
        await asyncio.to_thread(logging.getLogger(__name__).info, "a thread says")
        ctx.output(event.id)


@tool(timeout=3600)
async def hang(number: int) -> str:
    """Returns when it is cancelled, and says so."""
    note("hang", f"started {number}")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        note("hang", f"cancelled {number}")
        raise
    return "never"


async def steps(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A rule, no model: each round takes the next word of the request: a tool, `model` (hangs), or `end`."""
    asked = next(part.content for message in messages for part in message.parts if part.part_kind == "user-prompt")
    number, *words = str(asked).split()
    note("steps", number)
    step = words[sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)]
    if step == "model":
        await asyncio.sleep(3600)
    if step == "end":
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart(step, {"number": int(number)})])


class Patient(Agent):
    """Chats that stop wherever a test wants them to."""

    assistant = ChatModel(lambda: FunctionModel(steps), tools=[lookup, hang])
