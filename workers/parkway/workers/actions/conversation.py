"""Between our ChatMessages and pydantic-ai's messages, and the JSON in which a conversation is parked.

A parked conversation is kept as pydantic-ai's messages, not as ChatMessages: a provider wants its thinking
signatures and item ids back in the next round, and only these carry them.
"""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from parkway.schemas import jsonio
from parkway.schemas.json_form import valid_text
from parkway.schemas.messages import EXTERNAL_ID, ChatMessage


def from_chat_messages(messages: Sequence[ChatMessage]) -> list[ModelMessage]:
    """Messages of a chat request as pydantic-ai takes them: neighbours of one side become one message."""
    result: list[ModelMessage] = []
    calls: _Calls = {}
    for message in messages:
        if message.role == "assistant":
            result.append(_reply(message, calls))
            continue
        part = _request_part(message, calls)
        if result and isinstance(result[-1], ModelRequest):
            result[-1] = ModelRequest(parts=[*result[-1].parts, part])
        else:
            result.append(ModelRequest(parts=[part]))
    return result


def to_chat_messages(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """Messages in the JSON form of ChatMessages, for who reads them; what only a provider understands is left out."""
    result: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [
                {
                    "id": part.tool_call_id,
                    "type": "function",
                    "function": {"name": part.tool_name, "arguments": part.args},
                }
                for part in message.tool_calls
            ]
            result.append(
                {"role": "assistant", "content": message.text or "", **({"tool_calls": calls} if calls else {})}
            )
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                told = {
                    "role": "tool",
                    "content": as_text(part.content),
                    "extra_args": {EXTERNAL_ID: part.tool_call_id},
                }
                result.append(told)
            elif isinstance(part, SystemPromptPart | UserPromptPart):
                role = "system" if isinstance(part, SystemPromptPart) else "user"
                result.append({"role": role, "content": str(part.content)})
    return result


def user_message(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def tool_result(tool: str, call_id: str, value: Any, *, success: bool) -> ToolReturnPart:
    """What the model is shown of a call: text as it is, everything else as JSON text.

    As an object, pydantic-ai could take a result for a link to an image or file, and have it fetched.
    """
    return ToolReturnPart(tool, as_text(value), call_id, outcome="success" if success else "failed")


def with_unique_call_ids(reply: ModelResponse) -> ModelResponse:
    """The reply with every tool call told apart: some servers send one id for all, or an empty one."""
    if not reply.tool_calls:
        return reply
    seen: set[str] = {""}
    parts: list[ModelResponsePart] = []
    for part in reply.parts:
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in seen:
                part = replace(part, tool_call_id=f"call_{uuid.uuid4().hex}")  # noqa: PLW2901
            seen.add(part.tool_call_id)
        parts.append(part)
    return replace(reply, parts=parts)


def with_valid_text(reply: ModelResponse) -> ModelResponse:
    """The reply with no lone surrogate in it, or it could be neither parked nor sent on."""
    try:
        ModelMessagesTypeAdapter.dump_json([reply])
    except ValueError:
        (cleaned,) = ModelMessagesTypeAdapter.validate_python(_valid(ModelMessagesTypeAdapter.dump_python([reply])))
        assert isinstance(cleaned, ModelResponse)
        return cleaned
    return reply


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {_valid(name): _valid(item) for name, item in value.items()}
    return [_valid(item) for item in value] if isinstance(value, list | tuple) else value


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else jsonio.dumps(value).decode()


def dump(messages: Sequence[ModelMessage]) -> list[Any]:
    """Messages as JSON values."""
    return list(ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"))


def load(values: Sequence[Any]) -> list[ModelMessage]:
    """JSON values that `dump` made, perhaps by another version. Raises ValueError."""
    try:
        return ModelMessagesTypeAdapter.validate_json(jsonio.dumps(list(values)))
    except ValidationError as error:
        raise ValueError(f"parked conversation: {error.error_count()} places cannot be read") from None


_Calls = dict[str, tuple[str, str]]  # our call id or the provider's -> tool name, the provider's id


def _reply(message: ChatMessage, calls: _Calls) -> ModelResponse:
    parts: list[TextPart | ToolCallPart] = [TextPart(message.content)] if message.content else []
    for call in message.tool_calls:
        # A tool message names its call by either id; the provider knows only its own.
        provider_id = call.original_id or call.id
        calls[call.id] = calls[provider_id] = (call.function.name, provider_id)
        parts.append(ToolCallPart(call.function.name, call.function.arguments, provider_id))
    return ModelResponse(parts=parts)


def _request_part(message: ChatMessage, calls: _Calls) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(message.content)
    if message.role == "tool":
        named = message.extra_args.get("external_id") or message.extra_args.get("tool_call_id") or ""
        tool, call_id = calls.get(str(named), ("tool", str(named)))
        return ToolReturnPart(tool, message.content, call_id)
    return UserPromptPart(message.content)
