"""The chat model of the example: a provider's when PARKWAY_MODEL names one, else a few rules."""

import json
import os
import re
from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import AgentInfo, FunctionModel

TEAMS: Final = {
    "billing": r"charged|invoice|refund|pay",
    "shipping": r"arriv|deliver|parcel|where is",
    "technical": r"",
}


def chat_model() -> Model:
    """The model that `PARKWAY_MODEL` names, such as `openai:gpt-5-mini`; else `rule_based`, which needs no key."""
    name = os.environ.get("PARKWAY_MODEL")
    return infer_model(name) if name else FunctionModel(rule_based, model_name="rule-based")


async def rule_based(messages: list[ModelMessage], _agent: AgentInfo) -> ModelResponse:
    """No language model: rules that ask for the customer, and then answer."""
    parts = [part for message in messages for part in message.parts]
    question = next(str(part.content) for part in parts if isinstance(part, UserPromptPart))
    head, _, text = question.partition("\n\n")
    found = [part for part in parts if isinstance(part, ToolReturnPart)]
    if not found:
        return ModelResponse(parts=[ToolCallPart("lookup", {"customer": head.removeprefix("customer: ")})])
    return ModelResponse(parts=[TextPart(json.dumps(_verdict(text, found)))])


def _verdict(text: str, found: Sequence[ToolReturnPart]) -> dict[str, Any]:
    failed = found[0].outcome != "success"
    customer = {"name": "there", "tier": "unknown"} if failed else json.loads(found[0].model_response_str())
    team = next(team for team, words in TEAMS.items() if re.search(words, text, re.IGNORECASE))
    return {
        "team": team,
        "urgent": customer["tier"] == "gold",
        "reply": f"Hello {customer['name']}, our {team} team is on it.",
    }
