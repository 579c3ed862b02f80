"""Agents whose tools wait for people. The workers import this module by name."""

import asyncio
import json
import os
from pathlib import Path

from agents import note
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from parkway.agents import (
    Agent,
    ApprovalRequestEvent,
    ApprovalResponseEvent,
    ChatModel,
    Context,
    ToolContext,
    action,
    tool,
)


@tool(requires_approval=lambda args: "it costs much" if args["amount"] >= 100 else False, timeout=60)
async def pay(amount: int, ctx: ToolContext) -> str:
    """Pays. While the file `closed` is there it does not end."""
    note("pay", ctx.idempotency_key)
    folder = Path(os.environ["TEST_NOTES"])
    while (folder / "closed").exists():  # noqa: ASYNC110  a test's gate
        await asyncio.sleep(0.05)
    return f"paid {amount} for {ctx.tenant}"


@tool(requires_approval=True, approval_timeout=3)
async def hurry(amount: int) -> str:
    """Waits for three seconds only."""
    note("hurry", str(amount))
    return "never"


async def calls(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A rule, no model: `pay 500, pay 5` asks for these calls at once, and answers with what they gave."""
    asked = next(part.content for message in messages for part in message.parts if part.part_kind == "user-prompt")
    seen = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if seen:
        return ModelResponse(parts=[TextPart(json.dumps(seen))])
    words = [call.split() for call in str(asked).split(", ")]
    return ModelResponse(parts=[ToolCallPart(name, {"amount": int(amount)}) for name, amount in words])


class Payments(Agent):
    """Payments that people allow; those of 200 its own action denies."""

    assistant = ChatModel(lambda: FunctionModel(calls), tools=[pay, hurry])

    @action("type == EventType.ApprovalRequestEvent && call.function.arguments.amount == 200")
    async def policy(self, event: ApprovalRequestEvent, ctx: Context) -> None:
        ctx.send(
            ApprovalResponseEvent(
                request_id=event.request_id, token=event.token, approved=False, reason="nobody pays 200"
            )
        )
