"""The chat action over whole conversations: prompts, tool rounds, what is parked, and user_context."""

import asyncio
import json
import uuid
from typing import Any

import pytest
from chats import (
    ask,
    calls,
    chat_action,
    lookup_then,
    new,
    parked,
    response_of,
    results_in,
    resume,
    says,
    sent,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from parkway.schemas.events import (
    CancelRequestEvent,
    ChatMessage,
    ChatRequestEvent,
    FunctionCall,
    ToolCall,
)
from parkway.workers.actions.chat import ChatAction
from parkway.workers.effects import Task


async def test_an_answer_carries_the_text_the_model_and_the_tokens() -> None:
    request = ask()
    response = response_of(await chat_action(lambda *_: says("hi")).handle(new(request)))
    assert response.request_id == request.id
    assert response.success
    assert response.error is None
    assert response.response.role == "assistant"
    assert response.response.content == "hi"
    assert response.response.extra_args == {
        "model": "assistant",
        "model_name": "scripted",
        "promptTokens": 10,
        "completionTokens": 3,
    }
    assert (response.retry_count, response.total_retry_wait_sec) == (0, 0)


async def test_the_model_is_told_instructions_messages_tools_and_settings() -> None:
    seen: list[Any] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((messages, info))
        return says("hi")

    request = ChatRequestEvent(
        model="assistant",
        messages=[
            ChatMessage.system("be kind"),
            ChatMessage.user("who is ada?"),
            ChatMessage.assistant(
                "",
                [
                    ToolCall(
                        id="ours",
                        function=FunctionCall(name="lookup", arguments={"customer": "ada"}),
                        original_id="theirs",
                    )
                ],
            ),
            ChatMessage.tool("a countess", "ours"),
            ChatMessage.user("thanks"),
        ],
    )
    await chat_action(reply, instructions="You triage.", settings={"temperature": 0.5}).handle(new(request))
    ((messages, info),) = seen
    assert info.instructions == "You triage."
    assert [each.name for each in info.function_tools] == ["lookup"]
    assert info.function_tools[0].description == "Looks a customer up."
    assert info.function_tools[0].parameters_json_schema["required"] == ["customer"]
    assert info.model_settings["temperature"] == 0.5
    assert info.model_settings["max_retries"] == 0
    kinds = [[type(part) for part in message.parts] for message in messages]
    assert kinds == [[SystemPromptPart, UserPromptPart], [ToolCallPart], [ToolReturnPart, UserPromptPart]]
    assert messages[1].parts[0].tool_call_id == messages[2].parts[0].tool_call_id == "theirs"
    assert messages[2].parts[0].tool_name == "lookup"


async def test_tool_calls_park_the_conversation_and_send_a_tool_request() -> None:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return says("done") if results_in(messages) else calls("ada", "bob")

    task = new(ask())
    effects = await chat_action(reply).handle(task)
    request, park = sent(effects), effects.park
    assert effects.response is None
    assert park is not None
    assert request.model == "assistant"
    assert [call.function.arguments for call in request.tool_calls] == [
        {"customer": "ada"},
        {"customer": "bob"},
    ]
    assert [call.original_id for call in request.tool_calls] == ["provider-0", "provider-1"]
    assert len({uuid.UUID(call.id) for call in request.tool_calls}) == 2
    assert park.waits_for == request.id
    assert park.pending_calls == tuple(call.id for call in request.tool_calls)
    assert park.round == 1
    json.dumps(park.state)


async def test_tool_results_go_back_under_the_providers_ids_in_its_order() -> None:
    seen: list[ToolReturnPart] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not results_in(messages):
            return calls("ada", "bob", "cy", "di")
        seen.extend(results_in(messages))
        return says("done")

    action, task = chat_action(reply), new(ask())
    effects = await action.handle(task)
    ada, bob, cy, di = (call.id for call in sent(effects).tool_calls)
    resumed = resume(
        task,
        effects,
        responses={
            bob: "Tool `lookup` execute failed.",
            ada: {"kind": "image-url", "url": "http://x/y.png"},
            di: None,
        },
        success={bob: False, ada: True, di: None},
        error={bob: "KeyError: secret diagnostic"},
    )
    response = response_of(await action.handle(resumed))
    assert response.response.content == "done"
    assert [(part.tool_call_id, part.content, part.outcome) for part in seen] == [
        ("provider-0", '{"kind":"image-url","url":"http://x/y.png"}', "success"),
        ("provider-1", "Tool `lookup` execute failed.", "failed"),
        ("provider-2", "Tool `lookup` gave no result.", "failed"),
        ("provider-3", "null", "success"),
    ]
    assert cy


async def test_thinking_signatures_survive_the_parked_record() -> None:
    thinking = ThinkingPart("hm", signature="sig", provider_name="anthropic")
    seen: list[Any] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return says("done") if results_in(messages) else ModelResponse([thinking, *calls("ada").parts])

    action, task = chat_action(reply), new(ask())
    response_of(await action.handle(resume(task, await action.handle(task))))
    assert seen[1][1].parts[0] == thinking


async def test_tokens_are_summed_over_all_rounds() -> None:
    action, task = chat_action(lookup_then("done")), new(ask())
    response = response_of(await action.handle(resume(task, await action.handle(task))))
    assert response.response.extra_args["promptTokens"] == 20
    assert response.response.extra_args["completionTokens"] == 6


async def test_max_tool_rounds_ends_a_loop_with_a_failed_response() -> None:
    action, task = chat_action(lambda *_: calls("ada"), max_tool_rounds=2), new(ask(user_context={"a": 1}))
    for round_ in (1, 2):
        effects = await action.handle(task)
        assert effects.park is not None
        assert effects.park.round == round_
        task = resume(task, effects)
    response = response_of(await action.handle(task))
    assert response.error is not None
    assert response.error.type == "tool_rounds_exceeded"
    assert response.error.attempts == 3
    assert response.error.usage == {"promptTokens": 30, "completionTokens": 9}
    assert response.user_context == {"a": 1}


async def test_a_tool_the_model_was_not_offered_is_never_requested() -> None:
    seen: list[Any] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(results_in(messages))
        return says("sorry") if results_in(messages) else calls("ada", name="drop_tables")

    response = response_of(await chat_action(reply).handle(new(ask())))
    assert response.response.content == "sorry"
    assert [(part.content, part.outcome) for part in seen] == [("Tool `drop_tables` does not exist.", "failed")]


async def test_offered_and_unknown_tools_of_one_reply_are_both_answered() -> None:
    seen: list[Any] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(results_in(messages))
        bad = ToolCallPart("lookup", '{"customer": ', "same-id")
        first = ModelResponse([ToolCallPart("nope", {}, "same-id"), *calls("ada").parts, bad])
        return says("done") if results_in(messages) else first

    action, task = chat_action(reply), new(ask())
    effects = await action.handle(task)
    assert [call.original_id for call in sent(effects).tool_calls] == ["provider-0"]
    response_of(await action.handle(resume(task, effects)))
    assert [part.content for part in seen] == [
        "Tool `nope` does not exist.",
        "found",
        "Tool `lookup` execute failed. The arguments are not a JSON object.",
    ]
    assert len({part.tool_call_id for part in seen}) == 3


async def test_a_conversation_that_outgrows_the_parked_record_fails_and_says_so() -> None:
    action = chat_action(lookup_then("done"), max_state_bytes=2_000)
    response = response_of(await action.handle(new(ask("x" * 2_000))))
    assert response.error is not None
    assert response.error.type == "parked_too_large"
    assert "2,000" in response.error.message


async def test_a_cancellation_ends_a_parked_chat() -> None:
    action, task = chat_action(lookup_then("done")), new(ask(user_context={"a": 1}))
    effects = await action.handle(task)
    cancel = CancelRequestEvent(request_id=task.event["id"])
    resumed = Task(cancel.to_dict(), task.deadline, parked(task, effects))
    response = response_of(action.cancelled(resumed, "the customer called"))
    assert response.error is not None
    assert response.error.type == "cancelled"
    assert response.error.message == "the request was cancelled: the customer called"
    assert response.request_id == task.event["id"]
    assert response.user_context == {"a": 1}
    assert response.error.usage == {"promptTokens": 10, "completionTokens": 3}


# DESIGN 4.2, by its numbers.


async def test_contract_1_unset_user_context_leaves_no_key_anywhere() -> None:
    action, task = chat_action(lookup_then("done")), new(ask())
    effects = await action.handle(task)
    assert "user_context" not in task.event["attributes"]
    assert "user_context" not in sent(effects).to_dict()["attributes"]
    response = response_of(await action.handle(resume(task, effects)))
    assert "user_context" not in response.to_dict()["attributes"]
    failed = response_of(action.expired(task))
    assert "user_context" not in failed.to_dict()["attributes"]


@pytest.mark.parametrize("context", [{"step": "triage", "deep": {"list": [1, None, 2.5]}}, {}])
async def test_contract_2_a_success_carries_the_same_user_context(context: dict[str, Any]) -> None:
    response = response_of(await chat_action(lambda *_: says("hi")).handle(new(ask(user_context=context))))
    assert response.success
    assert response.to_dict()["attributes"]["user_context"] == context


async def test_contract_3_failed_responses_carry_user_context() -> None:
    def reply(*_: Any) -> ModelResponse:
        raise RuntimeError("secret text")

    action, context = chat_action(reply), {"a": 1}
    unknown = ChatRequestEvent(model="x", messages=[ChatMessage.user("hi")], user_context=context)
    bad = new(ask(user_context=context))
    bad.event["attributes"]["messages"] = 7  # type: ignore[index]
    task = new(ask(user_context=context))
    late = new(ask(user_context=context), seconds=-1)
    kinds = []
    for effects in (
        await action.handle(task),
        await action.handle(new(unknown)),
        await action.handle(bad),
        await action.handle(late),
        action.expired(task),
        action.failed(task, RuntimeError("secret text")),
    ):
        response = response_of(effects)
        assert not response.success
        assert response.error is not None
        assert response.user_context == context
        assert "secret" not in response.to_json().decode()
        kinds.append(response.error.type)
    assert kinds == [
        "internal",
        "unknown_model",
        "bad_request",
        "deadline_exceeded",
        "deadline_exceeded",
        "internal",
    ]


async def test_contract_4_concurrent_requests_never_exchange_user_context() -> None:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        name = messages[0].parts[0].content
        return says(f"done {name}") if results_in(messages) else calls(name)

    action = chat_action(reply)
    tasks = {f"c{i}": new(ask(f"c{i}", user_context={"me": f"c{i}"})) for i in range(20)}
    effects = dict(zip(tasks, await asyncio.gather(*(action.handle(each) for each in tasks.values())), strict=True))
    backwards = [(name, resume(tasks[name], effects[name])) for name in reversed(tasks)]
    answers = await asyncio.gather(*(action.handle(each) for _, each in backwards))
    for (name, _), answer in zip(backwards, answers, strict=True):
        response = response_of(answer)
        assert response.request_id == tasks[name].event["id"]
        assert response.user_context == {"me": name}
        assert response.response.content == f"done {name}"


async def test_contract_5_the_first_user_context_survives_retries_rounds_fallback_and_another_worker() -> None:
    def broken(*_: Any) -> ModelResponse:
        raise TimeoutError

    def worker() -> ChatAction:
        fallback = FunctionModel(lookup_then("done"), model_name="second")
        return chat_action(broken, fallbacks=[fallback], max_retries=1)

    task = new(ask(user_context={"first": True}))
    effects = await worker().handle(task)
    resumed = resume(task, effects, user_context={"forged": True})
    response = response_of(await worker().handle(resumed))
    assert response.user_context == {"first": True}
    assert response.response.extra_args["model_name"] == "second"
    # Two calls of the broken model and one of the fallback, which is asked first in the second round.
    assert response.retry_count == 2


async def test_contract_6_user_context_never_reaches_the_model_or_the_tools() -> None:
    seen: list[str] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(repr((messages, info)))
        return lookup_then("done")(messages, info)

    action = chat_action(reply)
    task = new(ask("hi {marker} {user_context}", prompt_args={"a": 1}, user_context={"marker": "s3cret"}))
    effects = await action.handle(task)
    seen.append(sent(effects).to_json().decode())
    response_of(await action.handle(resume(task, effects)))
    assert len(seen) == 3
    assert not [text for text in seen if "s3cret" in text]


async def test_contract_11_a_later_change_of_the_callers_object_changes_nothing() -> None:
    context: dict[str, Any] = {"list": [{"a": 1}]}
    task = new(ask(user_context=context))
    context["list"][0]["a"] = 2
    response = response_of(await chat_action(lambda *_: says("hi")).handle(task))
    task.event["attributes"]["user_context"]["list"][0]["a"] = 3
    assert response.user_context == {"list": [{"a": 1}]}


async def test_contract_12_the_tool_request_of_a_chat_carries_no_user_context() -> None:
    task = new(ask(user_context={"a": 1}))
    effects = await chat_action(lookup_then("done")).handle(task)
    assert sent(effects).user_context is None
    assert "user_context" not in sent(effects).to_dict()["attributes"]
    assert parked(task, effects).request["attributes"]["user_context"] == {"a": 1}


async def test_half_a_character_in_a_reply_does_not_end_the_chat() -> None:
    """Some servers cut an emoji in two; a lone surrogate fits into no record."""

    def reply(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            parts = [TextPart("well \ud83d"), ToolCallPart("lookup", '{"customer": "c\ud83d"}')]
            return ModelResponse(parts=[ThinkingPart("hm \ud83d"), *parts], usage=RequestUsage(output_tokens=3))
        return says("fine \ud83d")

    chat = chat_action(reply)
    task = new(ask())
    effects = await chat.handle(task)
    assert [call.function.arguments for call in sent(effects).tool_calls] == [{"customer": "c?"}]
    response = response_of(await chat.handle(resume(task, effects)))
    assert response.response.content == "fine ?"


async def test_what_a_provider_says_in_an_error_fits_into_the_response() -> None:
    def reply(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise ValueError("bad \ud83d")

    response = response_of(await chat_action(reply, capture_content=True).handle(new(ask())))
    assert response.error.type == "internal"
    assert "bad ?" in response.error.message
