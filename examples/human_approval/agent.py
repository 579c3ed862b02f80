"""A refund desk: a model looks the order up and asks for the refund; a person allows what is more than 100."""

from examples.human_approval.model import chat_model
from pydantic import BaseModel

from parkway.agents import (
    Agent,
    ApprovalRequestEvent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    ChatResponseEvent,
    Context,
    ToolContext,
    action,
    tool,
)

PRICES = {"A-1": 20.0, "B-2": 250.0}


class Complaint(BaseModel):
    """What comes in from outside."""

    order: str
    text: str


@tool
def look_up(order: str) -> dict[str, float]:
    """What an order cost."""
    return {"price": PRICES.get(order, 0.0)}


@tool(requires_approval=lambda args: "more than 100" if args["amount"] > 100 else False, approval_timeout=300)
def refund(order: str, amount: float, ctx: ToolContext) -> str:
    """Pay an amount back."""
    # A payment provider takes the key, and pays once even if a crash makes this run twice.
    return f"refunded {amount:g} for {order} (key {ctx.idempotency_key})"


class RefundDesk(Agent):
    clerk = ChatModel(
        chat_model,
        instructions="Look up what the order cost, refund it, and tell the customer what came of it.",
        tools=[look_up, refund],
    )

    @action("complaint", external=True)
    async def ask(self, complaint: Complaint, ctx: Context) -> None:
        message = ChatMessage.user(f"order {complaint.order}: {complaint.text}")
        ctx.send(ChatRequestEvent(model="clerk", messages=[message], user_context={"order": complaint.order}))

    # Where people look is up to the agent: a line in outputs here, a message to a channel elsewhere.
    @action("type == EventType.ApprovalRequestEvent")
    async def notify(self, event: ApprovalRequestEvent, ctx: Context) -> None:
        ctx.output({"decide": f"parkway approvals approve {event.call.id}", "why": event.reason})

    @action("type == EventType.ChatResponseEvent && has(user_context.order)")
    async def answer(self, event: ChatResponseEvent, ctx: Context) -> None:
        text = event.response.content if event.success else event.error.message if event.error else "it failed"
        ctx.output({"order": (event.user_context or {})["order"], "answer": text})
