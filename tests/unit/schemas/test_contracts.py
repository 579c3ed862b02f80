"""Where the contracts of user_context (DESIGN 4.2) are held, and the one that only actions can break.

Every contract has tests called `test_contract_<number>_...`:

| contract | what events keep of it | what the actions keep of it |
| --- | --- | --- |
| 1 unset: no key, 2 success, 3 failure | schemas/test_user_context.py | actions/test_chat.py, test_tool_context.py |
| 4 never exchanged, 6 reaches no prompt or argument | schemas/test_user_context.py | actions/test_chat.py, test_tool_context.py |
| 5 the first value survives | schemas/test_user_context.py (parked record) | actions/test_chat.py |
| 7 attachments are not copied | | here |
| 8 JSON form, 9 unknown, `{}`, null, 10 restored, 13 not serialisable | schemas/test_user_context.py | |
| 11 deep copy | schemas/test_user_context.py | actions/test_chat.py, test_tool_context.py |
| 12 a chat's tool request does not carry it | | actions/test_chat.py |
"""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from parkway.agents import ChatModel, Retry, tool
from parkway.router.failures import failed_response
from parkway.schemas.errors import ErrorType
from parkway.schemas.events import (
    ChatMessage,
    ChatRequestEvent,
    DecisionRequestEvent,
    Event,
    FunctionCall,
    ToolCall,
    ToolRequestEvent,
    ToolResponseEvent,
)
from parkway.schemas.parked import Origin, ParkedRecord
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Effects, Task

UNIT = Path(__file__).parents[1]
ATTACHMENTS = {"payload": {"@type": "memory_ref", "path": "marker-4c1d"}}
USER_CONTEXT = {"step": "triage"}


def test_every_contract_has_a_test_of_its_name():
    names = [
        name
        for file in sorted(UNIT.rglob("test_*.py"))
        for name in re.findall(r"^(?:async )?def (test_contracts?_\w+)", file.read_text("utf-8"), re.MULTILINE)
    ]
    numbers = {int(number) for name in names for number in re.findall(r"(?<=_)\d+(?=_)", name)}
    assert set(range(1, 14)) <= numbers


@tool
def lookup(customer: str) -> str:
    """Looks a customer up."""
    return customer


def task_of(request: Event, parked: ParkedRecord | None = None) -> Task:
    return Task(request.to_dict(), int((time.time() + 60) * 1000), parked)


def chat(**options: Any) -> ChatRequestEvent:
    messages = [ChatMessage.user("hi")]
    return ChatRequestEvent(
        model="assistant", messages=messages, user_context=USER_CONTEXT, attachments=ATTACHMENTS, **options
    )


def chat_action(*replies: ModelResponse) -> ChatAction:
    answers = iter(replies)

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return next(answers)

    model = ChatModel(FunctionModel(reply, model_name="scripted"), tools=[lookup])
    return ChatAction({"assistant": model}, backoff=Retry(backoff=0))


def without_attachments(response: Event | None) -> None:
    assert response is not None
    assert response.attachments is None
    assert b"marker-4c1d" not in response.to_json()
    assert response.attributes["user_context"] == USER_CONTEXT


async def test_contract_07_attachments_are_not_copied_to_a_chats_response():
    effects = await chat_action(ModelResponse([TextPart("hello")])).handle(task_of(chat()))
    without_attachments(effects.response)


async def test_contract_07_attachments_are_not_copied_to_a_failed_response():
    action = chat_action()
    request = chat().to_dict()
    request["attributes"]["model"] = "nobody"
    effects = await action.handle(task_of(Event.from_dict(request)))
    without_attachments(effects.response)
    assert effects.response is not None
    assert effects.response.attributes["success"] is False


async def test_contract_07_attachments_are_not_copied_over_a_tool_round():
    action = chat_action(
        ModelResponse([ToolCallPart("lookup", {"customer": "ada"}, "p-1")]), ModelResponse([TextPart("hello")])
    )
    request = chat()
    effects = await action.handle(task_of(request))
    (tools,) = effects.events
    assert isinstance(tools, ToolRequestEvent)
    assert tools.attachments is None
    assert b"marker-4c1d" not in tools.to_json()
    answers = {call.id: "found" for call in tools.tool_calls}
    answer = ToolResponseEvent(request_id=tools.id, responses=answers, attachments=ATTACHMENTS)
    effects = await action.handle(task_of(answer, parked(request, effects)))
    without_attachments(effects.response)


async def test_contract_07_attachments_are_not_copied_to_a_tools_response():
    calls = [ToolCall(id="1", function=FunctionCall(name="lookup", arguments={"customer": "a"}))]
    request = ToolRequestEvent(model="m", tool_calls=calls, user_context=USER_CONTEXT, attachments=ATTACHMENTS)
    effects = await ToolAction({"lookup": lookup}).handle(task_of(request))
    without_attachments(effects.response)


@pytest.mark.parametrize(
    "request_event",
    [
        chat(),
        ToolRequestEvent(model="m", tool_calls=[], user_context=USER_CONTEXT, attachments=ATTACHMENTS),
        DecisionRequestEvent(
            model="m", state=1, questions={"q": {}}, user_context=USER_CONTEXT, attachments=ATTACHMENTS
        ),
    ],
    ids=lambda event: event.type,
)
def test_contract_07_attachments_are_not_copied_to_a_response_of_the_router(request_event):
    response = failed_response(request_event.to_dict(), ErrorType.NO_ACTION, "nobody takes it")
    assert response is not None
    without_attachments(Event.parse(response))


def parked(request: Event, effects: Effects) -> ParkedRecord:
    """What another worker reads back."""
    park = effects.park
    assert park is not None
    record = ParkedRecord(
        build="b",
        action="chat",
        record_key=None,
        origin=Origin(topic="t", partition=0, offset=0),
        request=request.to_dict(),
        request_hash="h",
        round=park.round,
        waits_for=park.waits_for,
        pending_calls=park.pending_calls,
        deadline=park.deadline,
        state=dict(park.state),
    )
    return ParkedRecord.from_json(record.to_json())
