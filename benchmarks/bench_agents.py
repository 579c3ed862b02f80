"""The agent of the benchmarks."""

import asyncio

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from parkway.agents import Agent, ChatModel, Context, Event, action


async def at_once(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """No model: an answer at once."""
    return ModelResponse(parts=[TextPart("done")])


class Bench(Agent):
    assistant = ChatModel(lambda: FunctionModel(at_once))

    @action("nothing", external=True, order="unordered")
    async def nothing(self, event: Event, ctx: Context) -> None:
        """No-op."""

    @action("echo", external=True, order="unordered")
    async def echo(self, event: Event, ctx: Context) -> None:
        """One output a record."""
        ctx.output(event.attributes)

    @action("call", external=True, order="unordered")
    async def call(self, event: Event) -> None:
        """As long as somebody else's server takes."""
        await asyncio.sleep(event.attributes["seconds"])
