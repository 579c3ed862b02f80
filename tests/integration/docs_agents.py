"""The agent that the examples of docs/client.md talk to."""

import asyncio

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from parkway.agents import Agent, ChatModel, Context, Event, action


async def answers(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    if "slow" in str(messages):
        await asyncio.sleep(3600)
    return ModelResponse(parts=[TextPart("It comes tomorrow.")])


class Shop(Agent):
    assistant = ChatModel(lambda: FunctionModel(answers))

    @action("ticket", external=True)
    async def triage(self, event: Event, ctx: Context) -> None:
        ctx.output({"ticket": event.attributes["customer"]})
        ctx.output({"ticket": event.attributes["customer"], "last": True})
