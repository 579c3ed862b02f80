"""The example of DESIGN 7.7, exactly as it is printed there."""

# ruff: noqa: I001, PIE790
# fmt: off
from pydantic import BaseModel
from parkway.agents import Agent, ChatMessage, ChatModel, ChatRequestEvent, ChatResponseEvent, Context, action, tool

class Ticket(BaseModel):
    customer: str
    amount: float
    text: str

@tool
async def lookup(customer: str) -> dict[str, str]:
    """Looks a customer up."""                 # the schema comes from the signature and the docstring
    ...

class Support(Agent):
    assistant = ChatModel("openai:gpt-5-mini", instructions="You triage tickets.", tools=[lookup], fallbacks=["anthropic:claude-haiku-4-5"])

    @action("ticket", when="amount > 100", external=True)
    async def triage(self, ticket: Ticket, ctx: Context) -> None:
        ctx.send(ChatRequestEvent(model="assistant", messages=[ChatMessage.user(ticket.text)], user_context={"step": "triage"}))

    @action("type == EventType.ChatResponseEvent && has(user_context.step) && user_context.step == 'triage'")
    async def answer(self, event: ChatResponseEvent, ctx: Context) -> None:
        ctx.output({"ticket": event.request_id, "text": event.response.content if event.success else event.error.message})
# fmt: on
