"""Chat messages: the helpers, and the members of Flink Agents' JSON."""

import copy
import json
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from parkway.schemas.events import ChatRequestEvent, Event, ToolRequestEvent
from parkway.schemas.messages import ChatMessage, FunctionCall, ToolCall


def test_helpers_set_role_and_text():
    call = ToolCall(id="1", function=FunctionCall(name="f", arguments={"a": 1}))
    assert ChatMessage.system("s") == ChatMessage(role="system", content="s")
    assert ChatMessage.user("u") == ChatMessage(role="user", content="u")
    assert ChatMessage.assistant("a") == ChatMessage(role="assistant", content="a")
    assert ChatMessage.assistant("", (call,)).tool_calls == [call]


def test_tool_message_names_the_call_as_flink_agents_does():
    message = ChatMessage.tool("pong", "call_aaaa")
    assert message.role == "tool"
    assert message.extra_args == {"external_id": "call_aaaa"}


@pytest.mark.parametrize("members", [{"role": "bot"}, {"content": None}, {"blocks": 3}, {"contnet": "x"}])
def test_message_that_does_not_fit_is_refused(members):
    with pytest.raises(ValidationError):
        ChatMessage.model_validate(members)


def test_tool_call_keeps_what_a_provider_added():
    body = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {}}, "index": 0}
    assert ToolCall.model_validate(body).model_dump(exclude_unset=True) == body


@pytest.mark.parametrize(
    ("blocks", "text"),
    [([], ""), ([{"type": "text", "text": "hi"}], "hi"), ([{"type": "text", "text": "a"}, {"text": "b"}, {}], "ab")],
)
def test_blocks_of_text_are_the_content_and_are_written_back(blocks, text):
    message = ChatMessage.model_validate({"role": "user", "blocks": blocks})
    assert message.content == text
    assert request_of(message.written()) == {"role": "user", "blocks": blocks}


def test_message_with_blocks_is_written_with_its_content_in_a_new_event():
    message = ChatMessage.model_validate({"blocks": [{"type": "text", "text": "hi"}]})
    new = ChatRequestEvent(model="m", messages=[message]).attributes["messages"]
    assert new == [{"role": "user", "content": "hi", "tool_calls": [], "extra_args": {}}]


def test_content_that_was_changed_replaces_the_blocks():
    event = Event.parse(
        {"type": "_chat_request_event", "attributes": {"model": "m", "messages": [{"blocks": [{"text": "a"}]}]}}
    )
    assert isinstance(event, ChatRequestEvent)
    event.messages[0].content = "b"
    assert event.attributes["messages"] == [{"content": "b"}]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"blocks": [{"type": "image", "media_type": "image/png", "url": "u"}]}, "blocks.0.type"),
        ({"blocks": [{"type": "text", "text": 3}]}, "blocks.0.text"),
        ({"blocks": [3]}, "blocks.0"),
        ({"blocks": [{"type": "text", "text": "a"}], "content": "a"}, "content and blocks"),
    ],
)
def test_blocks_that_are_no_text_are_refused(members, message):
    with pytest.raises(ValidationError, match=message):
        ChatMessage.model_validate(members)


def test_flat_tool_call_is_read_and_written_back_as_it_came():
    for body in (
        {"id": "call_aaaa", "name": "echo", "arguments": {"value": "ping"}},
        {"id": "call_aaaa", "name": "echo"},
        {"id": "call_aaaa", "name": "echo", "arguments": {}, "type": "function", "index": 0, "original_id": None},
    ):
        call = ToolCall.model_validate(body)
        assert call.function.name == "echo"
        assert call.function.arguments == body.get("arguments", {})
        assert request_of(call.written()) == body
        copied = copy.deepcopy(call)
        copied.function.arguments["more"] = 1
        assert copied.written()["arguments"]["more"] == 1


def test_flat_tool_call_has_the_form_of_the_others_in_a_new_event():
    call = ToolCall.model_validate({"id": "1", "name": "echo", "arguments": {"a": 1}})
    new = ToolRequestEvent(model="m", tool_calls=[call]).attributes["tool_calls"]
    assert new == [{"id": "1", "type": "function", "function": {"name": "echo", "arguments": {"a": 1}}}]


def request_of(members: dict[str, Any]) -> Any:
    """Members as the JSON that they are written as."""
    return json.loads(orjson.dumps(members, default=lambda model: model.written()))
