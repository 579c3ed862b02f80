"""The chat model of the example: a provider's when PARKWAY_MODEL names one, else a few rules."""

import asyncio
import json
import os
import random
import re
from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import AgentInfo, FunctionModel


def chat_model() -> Model:
    """The model that `PARKWAY_MODEL` names, such as `openai:gpt-5-mini` or `anthropic:claude-haiku-4-5`.

    A server that speaks OpenAI's chat completions: `openai-chat:NAME` with OPENAI_BASE_URL. Without the variable:
    `rule_based`, so that the example runs without a key.
    """
    name = os.environ.get("PARKWAY_MODEL")
    return infer_model(name) if name else FunctionModel(rule_based, model_name="rule-based")


async def rule_based(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """No language model: rules that ask for the agent's tools in two rounds and answer from their results.

    It takes 0.2 to 1 s an answer, as a fast model does.
    """
    await asyncio.sleep(random.uniform(0.2, 1.0))
    asked = _question(messages)
    found = _tool_results(messages)
    if "labels_in_use" not in found or "activity_of" not in found:
        return ModelResponse(
            parts=[
                ToolCallPart("labels_in_use", {"repository": asked["repository"]}),
                ToolCallPart("activity_of", {"login": asked["author"]}),
            ]
        )
    if "maintainers_of" not in found:
        return ModelResponse(parts=[ToolCallPart("maintainers_of", {"repository": asked["repository"]})])
    return ModelResponse(parts=[TextPart(json.dumps(_verdict(asked, found)))])


def _question(messages: Sequence[ModelMessage]) -> dict[str, str]:
    """The lines `name: value` at the head of the user's message, and the whole of it as `text`."""
    text = next(
        part.content
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart) and isinstance(part.content, str)
    )
    head = text.partition("\n\n")[0]
    return {"text": text, **dict(re.findall(r"^(\w+): (.*)$", head, re.MULTILINE))}


def _tool_results(messages: Sequence[ModelMessage]) -> dict[str, Any]:
    """What each tool gave; nothing for one that failed."""
    returns = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return {
        part.tool_name: json.loads(part.model_response_str()) if part.outcome == "success" else [] for part in returns
    }


def _verdict(asked: dict[str, str], found: dict[str, Any]) -> dict[str, Any]:
    labels: list[str] = found["labels_in_use"]
    wanted = "documentation" if re.search(r"readme|spelling|docs?\b", asked["text"], re.IGNORECASE) else "bug"
    label = wanted if wanted in labels or not labels else labels[0]
    others = [login for login in found["maintainers_of"] if login != asked["author"]]
    seen = sum(found["activity_of"].values()) if found["activity_of"] else 0
    greeting = f"{seen} events of @{asked['author']} so far." if seen else f"Welcome, @{asked['author']}!"
    return {"label": label, "assignee": others[0] if others else None, "comment": greeting}
