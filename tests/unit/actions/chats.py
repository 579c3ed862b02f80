"""Steps of a chat as tests take them: a scripted model, a request, and what another worker reads back."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from parkway.agents import ChatModel, Retry, tool
from parkway.schemas.events import (
    ChatMessage,
    ChatRequestEvent,
    ChatResponseEvent,
    Event,
    ToolRequestEvent,
    ToolResponseEvent,
)
from parkway.schemas.parked import Origin, ParkedRecord
from parkway.workers.actions.chat import ChatAction
from parkway.workers.effects import Effects, Task

Reply = Callable[[list[ModelMessage], AgentInfo], Any]


@tool
def lookup(customer: str) -> str:
    """Looks a customer up."""
    return customer


_OF_THE_ACTION = ("capture_content", "max_state_bytes", "prompts", "routers")


def scripted(reply: Reply, name: str = "scripted", **options: Any) -> ChatModel[Any]:
    return ChatModel(FunctionModel(reply, model_name=name), **{"tools": [lookup], **options})


def chat_action(reply: Reply, **options: Any) -> ChatAction:
    kept = {name: options.pop(name) for name in _OF_THE_ACTION if name in options}
    return chat_actions({"assistant": scripted(reply, **options)}, **kept)


def chat_actions(models: Mapping[str, ChatModel[Any]], **options: Any) -> ChatAction:
    return ChatAction(models, backoff=Retry(backoff=0), **options)


def failure_of(effects: Effects, kind: str) -> str:
    response = response_of(effects)
    assert response.error is not None
    assert response.error.type == kind
    return response.error.message


def new(request: Event, seconds: float = 60) -> Task:
    return Task(request.to_dict(), int((time.time() + seconds) * 1000))


def ask(text: str = "hello", **attributes: Any) -> ChatRequestEvent:
    return ChatRequestEvent(**{"model": "assistant", "messages": [ChatMessage.user(text)], **attributes})


def parked(task: Task, effects: Effects) -> ParkedRecord:
    """What another worker reads back after this one wrote the park and died."""
    park = effects.park
    assert park is not None
    request = task.event if task.parked is None else task.parked.request
    record = ParkedRecord(
        build="b",
        action="chat",
        record_key=None,
        origin=Origin(topic="t", partition=0, offset=0),
        request=dict(request),
        request_hash="h",
        round=park.round,
        waits_for=park.waits_for,
        pending_calls=park.pending_calls,
        deadline=task.deadline,
        state=dict(park.state),
    )
    return ParkedRecord.from_json(record.to_json())


def resume(task: Task, effects: Effects, values: Mapping[str, Any] | None = None, **more: Any) -> Task:
    """The task of a tool response that answers every call, `values` by tool argument."""
    request = sent(effects)
    responses = {
        call.id: (values or {}).get(call.function.arguments.get("customer"), "found") for call in request.tool_calls
    }
    response = ToolResponseEvent(request_id=request.id, **{"responses": responses, **more})
    return Task(response.to_dict(), task.deadline, parked(task, effects))


def sent(effects: Effects) -> ToolRequestEvent:
    (event,) = effects.events
    assert isinstance(event, ToolRequestEvent)
    return event


def response_of(effects: Effects) -> ChatResponseEvent:
    response = effects.response
    assert isinstance(response, ChatResponseEvent)
    assert effects.park is None
    assert effects.failure is None
    assert effects.events == []
    return response


def says(text: str) -> ModelResponse:
    return ModelResponse([TextPart(text)], usage=RequestUsage(input_tokens=10, output_tokens=3))


def calls(*customers: str, name: str = "lookup") -> ModelResponse:
    parts = [ToolCallPart(name, {"customer": each}, f"provider-{i}") for i, each in enumerate(customers)]
    return ModelResponse(parts, usage=RequestUsage(input_tokens=10, output_tokens=3))


def results_in(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def lookup_then(text: str) -> Reply:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return says(text) if results_in(messages) else calls("ada")

    return reply
