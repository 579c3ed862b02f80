"""Tickets of customers: a model that can look the customer up says who should answer, and what to say meanwhile."""

from typing import Literal

from examples.support_triage.model import chat_model
from pydantic import BaseModel

from parkway.agents import (
    Agent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    ChatResponseEvent,
    Context,
    EventType,
    action,
    tool,
)

CUSTOMERS = {
    "ada": {"name": "Ada", "tier": "gold"},
    "bob": {"name": "Bob", "tier": "free"},
    "cyd": {"name": "Cyd", "tier": "gold"},
}


class Ticket(BaseModel):
    """What comes in. `amount` is what the customer paid for what the ticket is about."""

    customer: str
    amount: float
    text: str


class Verdict(BaseModel):
    """What the model must answer."""

    team: Literal["billing", "shipping", "technical"]
    urgent: bool
    reply: str


@tool
async def lookup(customer: str) -> dict[str, str]:
    """Looks a customer up.

    Args:
        customer: the customer's short name, as the ticket has it
    """
    return CUSTOMERS.get(customer, {"name": customer, "tier": "unknown"})


class Support(Agent):
    """A ticket about more than 100 goes by the model, every other one gets a standard reply."""

    assistant = ChatModel(
        chat_model,
        instructions=(
            "You triage tickets of an online shop. Look the customer up. Choose the team that must answer, say whether "
            "it is urgent (customers of tier gold always are), and write one friendly sentence to the customer."
        ),
        tools=[lookup],
        output_type=Verdict,
    )

    @action("ticket", when="amount > 100", external=True)
    async def triage(self, ticket: Ticket, ctx: Context) -> None:
        message = ChatMessage.user(f"customer: {ticket.customer}\n\n{ticket.text}")
        context = {"step": "triage", "customer": ticket.customer}
        ctx.send(ChatRequestEvent(model="assistant", messages=[message], user_context=context))

    @action("ticket", when="amount <= 100", external=True)
    async def acknowledge(self, ticket: Ticket, ctx: Context) -> None:
        ctx.output({"customer": ticket.customer, "reply": "Thank you! You hear from us within two days."})

    @action(EventType.ChatResponseEvent, when="has(user_context.step) && user_context.step == 'triage'")
    async def answer(self, event: ChatResponseEvent, ctx: Context) -> None:
        customer = (event.user_context or {})["customer"]
        if event.error is not None:
            # Nobody has decided: a person looks at it.
            ctx.output({"customer": customer, "team": "people", "why": event.error.type})
            return
        verdict = self.assistant.output(event)  # a Verdict
        ctx.output({"customer": customer, **verdict.model_dump()})
