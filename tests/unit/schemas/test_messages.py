"""Chat messages: the helpers, and the members of Flink Agents' JSON."""

import pytest
from pydantic import ValidationError

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


@pytest.mark.parametrize("members", [{"role": "bot"}, {"content": None}, {"blocks": []}, {"contnet": "x"}])
def test_message_that_does_not_fit_is_refused(members):
    with pytest.raises(ValidationError):
        ChatMessage.model_validate(members)


def test_tool_call_keeps_what_a_provider_added():
    body = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {}}, "index": 0}
    assert ToolCall.model_validate(body).model_dump(exclude_unset=True) == body
