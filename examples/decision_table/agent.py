"""Tickets are put into queues by a decision table: routing.csv, which no programmer has to edit."""

import os
from pathlib import Path

from pydantic import BaseModel

from parkway.agents import (
    Agent,
    Choice,
    Context,
    DecisionModel,
    DecisionRequestEvent,
    DecisionResponseEvent,
    DecisionTable,
    Noul,
    action,
)

QUESTIONS = {
    "queue": Choice(
        {
            "key-accounts": "a large contract is at stake",
            "legal": "lawyers, courts, privacy claims",
            "billing": "refunds, invoices, charges",
            "shipping": "where an order is",
            "other": "none of these, or it is not clear",
        },
        "Which queue does this ticket belong to?",
    ),
    "urgent": Noul("Must somebody look at this ticket within the hour?"),
}
# A yes of a model counts from this probability on. Find it with tickets whose answer you know, for one version of one
# model; the table's own answers have no probability, and count as they are.
URGENT_AT = 0.8


class Ticket(BaseModel):
    """What comes in. `amount` is that of the customer's contract."""

    customer: str
    tier: str = "free"
    amount: float = 0.0
    text: str
    order: dict[str, str] | None = None


TABLE = DecisionTable.from_file(Path(__file__).with_name("routing.csv"), questions=QUESTIONS, state=Ticket)


class Routing(Agent):
    """A ticket becomes a decision request; the decision's response becomes an output."""

    # With a model of your own choice the table takes over when it fails; without one, the table decides alone.
    router = (
        DecisionModel(os.environ["PARKWAY_MODEL"], questions=QUESTIONS, fallbacks=[TABLE], max_retries=1)
        if "PARKWAY_MODEL" in os.environ
        else TABLE
    )

    @action("ticket", external=True)
    async def ask(self, ticket: Ticket, ctx: Context) -> None:
        state = ticket.model_dump(exclude_none=True)
        ctx.send(DecisionRequestEvent(model="router", state=state, user_context={"customer": ticket.customer}))

    @action("type == EventType.DecisionResponseEvent && has(user_context.customer)")
    async def route(self, event: DecisionResponseEvent, ctx: Context) -> None:
        routed = {"customer": (event.user_context or {})["customer"]}
        if not event.success:
            # Not approved is not refused: somebody looks at what nobody decided.
            ctx.output({**routed, "queue": "undecided", "why": event.error.message if event.error else ""})
            return
        queue, urgent = event.choice("queue"), event.noul("urgent")
        ctx.output(
            {
                **routed,
                "queue": queue.choice,
                "urgent": urgent.yes(at=URGENT_AT),
                "why": queue.rule or f"probability {queue.probability}",
            }
        )
