"""One model: how it is built, and what it is asked with."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from pydantic_ai.messages import InstructionPart, ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.test import TestModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from parkway.agents.chat_model import ChatModel, ModelSource
from parkway.agents.threads import run_in_thread
from parkway.schemas import jsonio
from parkway.schemas.errors import ErrorType
from parkway.workers.actions.providers import CallError

Schema = Mapping[str, Any]


class Backend:
    """One model. It is built once, off the event loop: it imports an SDK and reads keys."""

    def __init__(self, source: ModelSource) -> None:
        self.label: Final = _label(source)
        self._source = source
        self._model: Model | None = None
        self._building = asyncio.Lock()

    async def model(self) -> Model:
        """The pydantic-ai model. Raises what its provider raises for a missing key or package."""
        async with self._building:
            if self._model is None:
                self._model = await run_in_thread(_build, self._source)
            return self._model


class CallForm:
    """How a ChatModel asks any of its models: its settings, instructions and the form of the answer."""

    def __init__(self, chat: ChatModel[Any]) -> None:
        self._chat = chat

    def settings(self, model: Model) -> ModelSettings:
        """The SDKs' own retries are off: ours honour deadlines and fallbacks."""
        ours = {"timeout": self._chat.timeout, **self._chat.settings, "max_retries": 0}
        # An SDK without retries of its own would warn at every call that it cannot turn them off.
        for name in ("timeout", "max_retries"):
            if ours[name] is None or name in model.unsupported_settings:
                del ours[name]
        return cast("ModelSettings", ours)

    def parameters(
        self, model: Model, tools: Sequence[ToolDefinition], output_schema: Schema | None
    ) -> ModelRequestParameters:
        """The tools, and the schema: given to the provider where it can be held to it, else put into words."""
        instructions = [self._chat.instructions] if self._chat.instructions else []
        parameters = ModelRequestParameters(function_tools=list(tools))
        if output_schema is not None and not tools and _is_native(model, output_schema):
            parameters.output_mode = "native"
            parameters.output_object = OutputObjectDefinition(json_schema=dict(output_schema))
        elif output_schema is not None:
            instructions.append(
                "Give your final answer as one JSON value and nothing else. It must fit this JSON schema:\n"
                + jsonio.dumps(output_schema).decode()
            )
        parameters.instruction_parts = [InstructionPart(content=text) for text in instructions] or None
        return parameters


def _is_native(model: Model, output_schema: Schema) -> bool:
    """Whether the provider can be held to the schema: objects only."""
    try:
        supported = model.profile.get("supports_json_schema_output", False)
    except NotImplementedError:  # a FallbackModel has no profile of its own
        return False
    return supported and output_schema.get("type") == "object"


def fitted(model: Model, response: ModelResponse, output_schema: Schema | None) -> ModelResponse:
    """The reply; that of pydantic-ai's `"test"` in the form that was asked for, which it knows of output tools only.

    What it makes up fits the schema, not validators and patterns.
    """
    if output_schema is None or not isinstance(model, TestModel) or response.tool_calls:
        return response
    if model.custom_output_text is not None:
        return response
    value = model.gen_tool_args(ToolDefinition(name="answer", parameters_json_schema=dict(output_schema)))
    return replace(response, parts=[TextPart(jsonio.dumps(value).decode())])


def unusable(response: ModelResponse, label: str) -> CallError | None:
    """Why a reply that arrived counts as none."""
    if response.finish_reason == "content_filter":
        return CallError(ErrorType.REFUSED, f"model {label!r} refused to answer (content filter)", final=True)
    if response.finish_reason == "error":
        return CallError(ErrorType.PROVIDER_ERROR, f"model {label!r} ended its reply with an error", retryable=True)
    if _ended_early(response):
        return CallError(ErrorType.PROVIDER_ERROR, f"model {label!r}: the reply broke off", retryable=True)
    if response.state == "suspended":
        message = f"model {label!r} suspended its reply; background modes are not supported"
        return CallError(ErrorType.PROVIDER_ERROR, message)
    return None if response.text or response.tool_calls else _empty(response, label)


def _empty(response: ModelResponse, label: str) -> CallError:
    if (response.provider_details or {}).get("finish_reason") == "model_context_window_exceeded":  # Anthropic
        return CallError(ErrorType.CONTEXT_TOO_LONG, f"model {label!r}: the conversation left no room for an answer")
    used_up = response.finish_reason == "length"
    reason = "max_tokens was used up before it" if used_up else "no text, no tool call"
    return CallError(ErrorType.PROVIDER_ERROR, f"model {label!r} gave an empty reply ({reason})", retryable=not used_up)


def _ended_early(response: ModelResponse) -> bool:
    """A stream that stops without its last events looks complete otherwise (pydantic-ai 2.68: Anthropic)."""
    if response.state in ("incomplete", "interrupted"):
        return True
    details = response.provider_details or {}
    return response.provider_name == "anthropic" and not (response.finish_reason or details.get("finish_reason"))


def _label(source: ModelSource) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, Model):
        return source.model_id
    return getattr(source, "__name__", type(source).__name__)


def _build(source: ModelSource) -> Model:
    if isinstance(source, str | Model):
        return infer_model(source)
    model = source()
    if not isinstance(model, Model):
        raise TypeError(f"{_label(source)}() gave a {type(model).__name__}, not a pydantic-ai Model")
    return model
