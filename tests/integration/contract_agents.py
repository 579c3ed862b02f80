"""Agents that show the contracts of user_context and of tool outcomes (DESIGN 4.2 and 4.3) in what they put out."""

import asyncio
from typing import Any, ClassVar

from parkway.agents import (
    Agent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    Context,
    Event,
    EventType,
    FunctionCall,
    Retry,
    ToolCall,
    ToolRequestEvent,
    ToolResponseEvent,
    action,
    tool,
)


@tool
def price(item: str) -> dict[str, Any]:
    """The price of an item."""
    return {"item": item, "price": 10}


@tool
def broken(item: str) -> str:
    """Always fails."""
    raise LookupError(f"no {item}")


def called(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="call-1", function=FunctionCall(name=name, arguments=arguments))


class Contexts(Agent):
    """Puts out every response that it sees, with the keys of its attributes."""

    assistant = ChatModel("openai:gpt-5-mini", tools=[price, broken], max_retries=1)

    @action("chat", external=True)
    async def ask(self, event: Event, ctx: Context) -> None:
        given = {name: event.attributes[name] for name in ("user_context",) if name in event.attributes}
        ctx.send(
            ChatRequestEvent(
                model="assistant",
                messages=[ChatMessage.user(event.attributes["text"])],
                attachments={"file": "of the request"},
                id=f"chat-of-{event.id}",
                **given,
            )
        )

    @action("tools", external=True)
    async def call(self, event: Event, ctx: Context) -> None:
        ctx.send(
            ToolRequestEvent(
                model="assistant",
                tool_calls=[called(event.attributes["tool"], item="x")],
                user_context=event.attributes["user_context"],
                id=f"tools-of-{event.id}",
            )
        )

    @action("type == EventType.ChatResponseEvent || type == EventType.ToolResponseEvent")
    async def see(self, event: Event, ctx: Context) -> None:
        attributes = event.attributes
        success = attributes["success"]
        of = attributes["request_id"]
        ctx.output(
            {
                "of": of if of.startswith(("chat-of-", "tools-of-")) else "a tool request of a chat",
                "success": all(success.values()) if isinstance(success, dict) else success,
                "attachments": event.attachments,
                **{name: attributes[name] for name in ("user_context",) if name in attributes},
            }
        )


class Patient(Agent):
    """Works at the third attempt, a minute later."""

    @action("job", external=True, retry=Retry(attempts=3, on=(ConnectionError,), backoff=30, max_backoff=30))
    async def work(self, event: Event, ctx: Context) -> None:
        if ctx.attempt < 3:
            raise ConnectionError
        ctx.output(ctx.attempt)

    @action("late", external=True, deadline=900)
    async def wait(self, event: Event, ctx: Context) -> None:
        await asyncio.Event().wait()


class Outcomes(Agent):
    """Answers its chats' tool requests itself, as the event that began it says."""

    assistant = ChatModel("openai:gpt-5-mini", tools=[price])
    answers: ClassVar[dict[str, dict[str, Any]]] = {}

    @action("ask", external=True)
    async def ask(self, event: Event, ctx: Context) -> None:
        ctx.send(ChatRequestEvent(model="assistant", messages=[ChatMessage.user(event.attributes["case"])]))

    @action(EventType.ToolRequestEvent)
    async def answer(self, event: ToolRequestEvent, ctx: Context) -> None:
        (call,) = event.tool_calls
        told = self.answers[call.function.arguments["item"]]
        ctx.send(
            Event(
                "_tool_response_event",
                {
                    "request_id": event.id,
                    "responses": {call.id: told["value"]},
                    "success": told["success"](call.id),
                    "error": {call.id: told["error"]} if "error" in told else {},
                    "external_ids": {},
                },
            )
        )

    @action("type == EventType.ChatResponseEvent")
    async def see(self, event: Event, ctx: Context) -> None:
        ctx.output(event.attributes["response"]["content"])

    @action("type == EventType.ToolResponseEvent")
    async def results(self, event: ToolResponseEvent, ctx: Context) -> None:
        (result,) = event.results().values()
        ctx.output({"success": result.success, "value": result.value, "error": result.error})
