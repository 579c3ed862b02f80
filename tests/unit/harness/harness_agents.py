"""The agents that the harness is tried with."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel

from parkway.agents import (
    Agent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    ChatResponseEvent,
    Context,
    Event,
    Retry,
    action,
    tool,
)


class Ticket(BaseModel):
    customer: str
    amount: float
    text: str


@tool
async def lookup(customer: str) -> dict[str, str]:
    """Looks a customer up."""
    return {"customer": customer, "plan": "gold"}


class Support(Agent):
    assistant = ChatModel("openai:gpt-5-mini", instructions="You triage tickets.", tools=[lookup])

    @action("ticket", when="amount > 100", external=True)
    async def triage(self, ticket: Ticket, ctx: Context) -> None:
        ctx.send(
            ChatRequestEvent(
                model="assistant", messages=[ChatMessage.user(ticket.text)], user_context={"of": ctx.event.id}
            )
        )

    @action("type == EventType.ChatResponseEvent && has(user_context.of)")
    async def answer(self, event: ChatResponseEvent, ctx: Context) -> None:
        assert event.user_context is not None
        told = event.response.content if event.success else f"{event.error.type}"
        ctx.output({"of": event.user_context["of"], "text": told})


def ticket(number: int = 1, text: str = "Where is it?", amount: float = 200) -> Event:
    return Event("ticket", {"customer": f"c{number}", "amount": amount, "text": text}, id=f"t-{number}")


class Flaky(Agent):
    """Fails as often as the event says; its instance counts the calls."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    async def lifespan(self) -> AsyncIterator[None]:
        self.opened.append("open")
        yield
        self.opened.append("closed")

    @action("job", external=True, retry=Retry(attempts=3, on=(ConnectionError,), backoff=30, max_backoff=60))
    async def work(self, event: Event, ctx: Context) -> None:
        if ctx.attempt <= event.attributes.get("fails", 0):
            raise ConnectionError(f"attempt {ctx.attempt}")
        ctx.output({"number": event.attributes["number"], "attempt": ctx.attempt})

    @action("slow", external=True, timeout=5)
    async def sleep(self, event: Event, ctx: Context) -> None:
        await asyncio.sleep(event.attributes["seconds"])
        ctx.output("woke up")

    @action("sync", external=True)
    def block(self, event: Event, ctx: Context) -> None:
        time.sleep(event.attributes["seconds"])
        ctx.output("from a thread")

    @action("loop", external=True)
    async def again(self, event: Event, ctx: Context) -> None:
        ctx.send(Event("loop"))

    @action("forever", external=True)
    async def wait(self, event: Event, ctx: Context) -> None:
        await asyncio.Event().wait()


class Leaky(Agent):
    """Remembers in its instance what must not be there only: a crash shows it."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @action("job", external=True)
    async def work(self, event: Event, ctx: Context) -> None:
        self.seen.append(event.attributes["number"])
        ctx.output({"seen": len(self.seen)})
