"""One round of tool calls: which of a reply's calls are requested, and what the model is shown of the results."""

import uuid
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ModelRequest, ModelRequestPart, ModelResponse, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from parkway.schemas.events import ToolResult
from parkway.schemas.json_form import json_form
from parkway.schemas.messages import FunctionCall, ToolCall
from parkway.workers.actions import conversation
from parkway.workers.actions.chat_state import PendingCall
from parkway.workers.actions.toolbox import AnyTool


def definitions_of(tools: Iterable[AnyTool]) -> list[ToolDefinition]:
    """What a model is told of its tools."""
    return [
        ToolDefinition(name=tool.name, description=tool.description or None, parameters_json_schema=tool.parameters)
        for tool in tools
    ]


def calls_of(tools: Container[str], reply: ModelResponse) -> tuple[list[PendingCall], list[ToolCall]]:
    """Give every call of a reply an id of ours, and take those that can be requested.

    The tool action runs any tool of the agent, so a call of none of `tools`, which this model was offered, stops here.
    """
    pending: list[PendingCall] = []
    requested: list[ToolCall] = []
    for part in reply.tool_calls:
        call_id, answer = str(uuid.uuid4()), None
        if part.tool_name not in tools:
            answer = f"Tool `{part.tool_name}` does not exist."
        else:
            try:
                requested.append(_tool_call(part, call_id))
            except ValueError as error:
                answer = f"Tool `{part.tool_name}` execute failed. {error}"
        pending.append(PendingCall(id=call_id, provider_id=part.tool_call_id, tool=part.tool_name, answer=answer))
    return pending, requested


def awaits_person(tools: Mapping[str, AnyTool], requested: Iterable[ToolCall]) -> bool:
    """Will one of these calls wait for a person? The tool action decides; this is for counting."""
    return any(
        tools[call.function.name].approval.reason(call.function.arguments) is not None
        for call in requested
        if tools[call.function.name].approval.may_ask
    )


def results_for(calls: Sequence[PendingCall], results: Mapping[str, ToolResult]) -> ModelRequest:
    """What the model is shown of its calls, in its own order; of one without a result, that it has none."""
    parts: list[ModelRequestPart] = []
    for call in calls:
        result = results.get(call.id)
        success = result is not None and result.success
        value: Any = call.answer or f"Tool `{call.tool}` gave no result."
        if result is not None:
            value = result.value if result.success else result.error
        parts.append(conversation.tool_result(call.tool, call.provider_id, value, success=success))
    return ModelRequest(parts=parts)


def _tool_call(part: ToolCallPart, call_id: str) -> ToolCall:
    """Raises ValueError, with text for the model, for arguments that no event can carry."""
    try:
        arguments = part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        raise ValueError("The arguments are not a JSON object.") from None
    function = FunctionCall(name=part.tool_name, arguments=json_form(arguments, "arguments"))
    return ToolCall(id=call_id, function=function, original_id=part.tool_call_id)
