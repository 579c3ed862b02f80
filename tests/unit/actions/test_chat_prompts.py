"""What a chat model's prompt makes of a request."""

from typing import Any

import pytest
from chats import ask, chat_action, failure_of, new, response_of, says
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo

from parkway.agents import ChatMessage, ChatModel, Prompt
from parkway.workers.actions.chat import ChatAction

TRIAGE = Prompt.from_messages([ChatMessage.system("You work for {shop}."), ChatMessage.user("Triage: {ticket}")])


def told(seen: list[Any]) -> Any:
    def reply(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        seen.append([(part.part_kind, part.content) for message in messages for part in message.parts])  # type: ignore[union-attr]
        return says("hi")

    return reply


@pytest.mark.parametrize("options", [{"prompt": TRIAGE}, {"prompt": "triage", "prompts": {"triage": TRIAGE}}])
async def test_the_prompts_messages_come_first_filled_and_the_requests_as_they_are(options: Any) -> None:
    seen: list[Any] = []
    request = ask("I am {shop}", prompt_args={"shop": "Ada's", "ticket": {"n": 1}})
    response_of(await chat_action(told(seen), **options).handle(new(request)))
    assert seen == [
        [
            ("system-prompt", "You work for Ada's."),
            ("user-prompt", 'Triage: {"n":1}'),
            ("user-prompt", "I am {shop}"),
        ]
    ]


@pytest.mark.parametrize("messages", [[], [ChatMessage.user("")]])
async def test_a_request_may_bring_nothing_but_arguments(messages: Any) -> None:
    seen: list[Any] = []
    request = ask(messages=messages, prompt_args={"shop": "s", "ticket": "t"})
    response_of(await chat_action(told(seen), prompt=TRIAGE).handle(new(request)))
    assert len(seen[0]) == 2


async def test_a_missing_argument_is_a_bad_request_that_names_it() -> None:
    effects = await chat_action(told([]), prompt=TRIAGE).handle(
        new(ask(prompt_args={"shop": "s3cret"}, user_context={"a": 1}))
    )
    assert failure_of(effects, "bad_request") == (
        "prompt_args: the prompt needs 'ticket'; given: shop (chat model 'assistant')"
    )
    assert response_of(effects).user_context == {"a": 1}


async def test_without_a_user_message_anywhere_nobody_is_asked() -> None:
    seen: list[Any] = []
    effects = await chat_action(told(seen), prompt=Prompt("Be brief.")).handle(new(ask(messages=[])))
    assert "has no user message" in failure_of(effects, "bad_request")
    assert "at least one message" in failure_of(
        await chat_action(told(seen)).handle(new(ask(messages=[]))), "bad_request"
    )
    assert seen == []


async def test_braces_of_a_user_are_never_filled_in() -> None:
    seen: list[Any] = []
    request = ask("{name} {{x}} {user_context}", prompt_args={"name": "s3cret"}, user_context={"x": "s3cret"})
    response_of(await chat_action(told(seen)).handle(new(request)))
    assert seen == [[("user-prompt", "{name} {{x}} {user_context}")]]


async def test_arguments_that_nothing_takes_are_ignored_as_in_flink_agents() -> None:
    action = ChatAction({"assistant": ChatModel("test")})
    assert response_of(await action.handle(new(ask(prompt_args={"a": 1})))).success
