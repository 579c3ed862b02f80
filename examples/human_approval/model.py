"""The chat model of the example: a provider's when PARKWAY_MODEL names one, else a few rules."""

import os
import re

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import AgentInfo, FunctionModel


def chat_model() -> Model:
    """The model that `PARKWAY_MODEL` names, such as `openai:gpt-5-mini`; without it a few rules, and no key."""
    name = os.environ.get("PARKWAY_MODEL")
    return infer_model(name) if name else FunctionModel(rule_based, model_name="rule-based")


async def rule_based(messages: list[ModelMessage], _agent: AgentInfo) -> ModelResponse:
    """No language model: look the order up, refund its price, say what came of it."""
    parts = [part for message in messages for part in message.parts]
    asked = next(part.content for part in parts if isinstance(part, UserPromptPart))
    order = re.findall(r"order (\S+):", str(asked))[0]
    found = {part.tool_name: part for part in parts if isinstance(part, ToolReturnPart)}
    if "look_up" not in found:
        return ModelResponse(parts=[ToolCallPart("look_up", {"order": order})])
    if "refund" not in found:
        price = float(re.findall(r"[\d.]+", str(found["look_up"].content))[0])
        return ModelResponse(parts=[ToolCallPart("refund", {"order": order, "amount": price})])
    return ModelResponse(parts=[TextPart(f"Order {order}: {found['refund'].content}")])
