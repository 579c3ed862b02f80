"""The chat model of the example: a provider's when PARKWAY_MODEL names one, else a rule that quotes."""

import os
import re
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import AgentInfo, FunctionModel

_COMMON: Final = frozenset({"are", "does", "for", "how", "that", "the", "what", "when", "where", "which", "who", "why"})


def chat_model() -> Model:
    """The model that `PARKWAY_MODEL` names, such as `openai:gpt-5-mini`; without it `quote`, which needs no key."""
    name = os.environ.get("PARKWAY_MODEL")
    return infer_model(name) if name else FunctionModel(quote, model_name="quote")


async def quote(messages: list[ModelMessage], _agent: AgentInfo) -> ModelResponse:
    """No language model: the sentence of the excerpts that shares most words with the question."""
    text = next(
        part.content
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart) and isinstance(part.content, str)
    )
    asked, _, excerpts = text.partition("\n\n")
    excerpts = re.sub(r"^\[.*\]$", "", excerpts, flags=re.MULTILINE)  # where they are from
    wanted = _words(asked.removeprefix("Question: "))
    sentences = [" ".join(each.split()) for each in re.split(r"(?<=[.!?])\s+|\n\n", excerpts)]
    best = max(sentences, key=lambda sentence: (len(wanted & _words(sentence)), -len(sentence)), default="")
    return ModelResponse(parts=[TextPart(best if wanted & _words(best) else "The documents do not say.")])


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower())) - _COMMON
