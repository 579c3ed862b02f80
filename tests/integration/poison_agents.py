"""Agents with a record that kills the process, whoever runs it. The workers import this module by name."""

import asyncio
import ctypes
import os
import time

from agents import note
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


class Order(BaseModel):
    number: int
    poison: bool = False


class Crashing(Agent):
    """A sync handler in a thread that reads address 0, and a neighbour in the same process."""

    @action("order", external=True, order="unordered")
    def process(self, order: Order, ctx: Context) -> None:
        note("process", str(order.number))
        if order.poison:
            ctypes.string_at(0)
        time.sleep(0.05)
        ctx.output({"number": order.number})

    @action("other", external=True)
    async def other(self, order: Order, ctx: Context) -> None:
        await asyncio.sleep(0.05)
        ctx.output({"number": order.number})


POISON = 7


@tool
async def lookup(number: int) -> int:
    """Looks an order up."""
    if number == POISON:
        os._exit(70)
    await asyncio.sleep(0.1)
    return number * 10


async def one_round(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Asks the tool once, then answers with what it saw."""
    asked = next(part.content for message in messages for part in message.parts if part.part_kind == "user-prompt")
    seen = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not seen:
        return ModelResponse(parts=[ToolCallPart("lookup", {"number": int(str(asked))})])
    return ModelResponse(parts=[TextPart(f"{asked}: {seen}")])


async def one_deadly_round(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The same, and it dies of what its tool said of -7."""
    reply = await one_round(messages, info)
    if any(part.part_kind == "text" and part.content.startswith(f"-{POISON}:") for part in reply.parts):
        os.abort()
    return reply


class DeadlyTool(Agent):
    """Chats whose tool kills the process for one number."""

    assistant = ChatModel(lambda: FunctionModel(one_round), tools=[lookup])

    @action("question", external=True)
    async def ask(self, event: Event, ctx: Context) -> None:
        number = event.attributes["number"]
        message = ChatMessage.user(str(number))
        ctx.send(ChatRequestEvent(model="assistant", messages=[message], user_context={"number": number}))

    @action("type == EventType.ChatResponseEvent && has(user_context.number)")
    async def answer(self, event: ChatResponseEvent, ctx: Context) -> None:
        text = event.response.content if event.success else f"{event.error.type}: {event.error.message}"
        ctx.output({"number": event.user_context["number"], "success": event.success, "text": text})


class DeadlyAnswer(DeadlyTool):
    """Chats of which one kills the process when it goes on."""

    assistant = ChatModel(lambda: FunctionModel(one_deadly_round), tools=[lookup])
