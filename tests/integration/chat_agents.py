"""Agents whose chats have prompts, a router, a budget. The workers import this module by name."""

import asyncio
import os

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from parkway.agents import Agent, ChatModel, ModelRouter, Prompt, ReActAgent, UsageLimits, tool


class Sum(BaseModel):
    result: float


@tool
async def add(a: float, b: float) -> float:
    """Adds two numbers."""
    await asyncio.sleep(float(os.environ.get("TEST_TOOL_SECONDS", "0")))
    return a + b


async def adds(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A rule, no model: `1 + 2` is added by the tool."""
    used = RequestUsage(input_tokens=10, output_tokens=3)
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse([TextPart(f'{{"result": {last.content}}}')], usage=used)
    a, _, b = str(getattr(messages[0].parts[-1], "content", "")).split()
    return ModelResponse([ToolCallPart("add", {"a": float(a), "b": float(b)})], usage=used)


react = ReActAgent(model=FunctionModel(adds), tools=[add], prompt="{a} + {b}", output_type=Sum)


class Desk(Agent):
    question = Prompt("{a} + {b}", role="user")
    small = ChatModel(FunctionModel(adds, model_name="small-1"), tools=[add], prompt="question")
    frugal = ChatModel(
        FunctionModel(adds, model_name="frugal-1"),
        tools=[add],
        prompt="question",
        usage_limits=UsageLimits(request_limit=1),
    )
    assistant = ModelRouter(
        rules=[("has(user_context.tier) && user_context.tier == 'free'", "frugal")], default="small"
    )
