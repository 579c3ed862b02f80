"""An agent that decides by a table, by functions and by a provider. The workers import this module by name."""

import asyncio
from typing import Any

from agents import note

from parkway.agents import (
    Agent,
    Choice,
    ChoiceAnswer,
    Context,
    DecisionModel,
    DecisionRequestEvent,
    DecisionResponseEvent,
    DecisionTable,
    Event,
    Noul,
    action,
)

QUEUE = {"queue": Choice(["billing", "other"]), "spam": Noul("Is it spam?")}


async def guess(state: Any) -> dict[str, Any]:
    note("guess", str(state["number"]))
    await asyncio.sleep(0.01 * (state["number"] % 3))
    picked = "billing" if state["number"] % 2 else "other"
    probabilities = {"billing": 0.25, "other": 0.25, picked: 0.75}
    return {"queue": ChoiceAnswer(choice=picked, probabilities=probabilities), "spam": 0.5}


async def hang(state: Any) -> dict[str, Any]:
    note("hang", f"started {state}")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        note("hang", f"cancelled {state}")
        raise
    return {}


class Deciding(Agent):
    table = DecisionTable(
        [
            {"when": "number < 3", "queue": "billing", "spam": False},
            {"when": "number == 2", "queue": "other", "spam": True},
        ],
        questions=QUEUE,
        hit="unique",
    )
    function = DecisionModel.of(guess, questions=QUEUE)
    host = DecisionModel("system_one:jev-1.14", questions=QUEUE, max_retries=1)
    hanging = DecisionModel.of(hang, questions=QUEUE, concurrency=1)

    @action("ticket", external=True, order="unordered")
    async def ask(self, event: Event, ctx: Context) -> None:
        for model in ("table", "function", "host"):
            context = {"number": event.attributes["number"], "asked": model}
            ctx.send(DecisionRequestEvent(model=model, state=event.attributes, user_context=context))

    @action("type == EventType.DecisionResponseEvent && has(user_context.asked)", order="unordered")
    async def decided(self, event: DecisionResponseEvent, ctx: Context) -> None:
        assert event.user_context is not None
        said: dict[str, Any] = {"model": event.model, **event.user_context}
        if event.success:
            said |= {"queue": event.choice("queue").choice, "spam": event.noul("spam").yes(at=0.5)}
        else:
            assert event.error is not None
            said |= {"error": event.error.type, "message": event.error.message}
        ctx.output(said)
