"""One journal entry per call of a model, whatever came of it, and content only where it is asked for."""

import asyncio
import time
from typing import Any

import pytest
from chats import ask, calls, chat_action, chat_actions, lookup_then, new, response_of, resume, says, scripted
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse

from parkway.schemas import jsonio
from parkway.schemas.json_form import json_form


def failing(times: int, then: Any) -> Any:
    left = times

    def reply(*given: Any) -> ModelResponse:
        nonlocal left
        left -= 1
        if left >= 0:
            raise ModelHTTPError(503, "m", {"message": "the prompt was s3cret"})
        reply: ModelResponse = then(*given)
        return reply

    return reply


async def test_every_attempt_has_an_entry() -> None:
    before = int(time.time() * 1000)
    effects = await chat_action(failing(2, lambda *_: says("hi"))).handle(new(ask()))
    failed, _, answered = effects.journal
    assert [entry.attempt for entry in effects.journal] == [1, 2, 3]
    assert {(entry.kind, entry.name, entry.round) for entry in effects.journal} == {("model_call", "assistant", 1)}
    assert (failed.outcome, failed.error_type, failed.model, failed.usage) == (
        "failed",
        "provider_error",
        "function:scripted",
        None,
    )
    assert (answered.outcome, answered.error_type, answered.model) == ("success", None, "scripted")
    assert answered.usage == {"promptTokens": 10, "completionTokens": 3}
    assert before <= failed.started_at <= failed.ended_at <= answered.ended_at <= int(time.time() * 1000) + 1


async def test_rounds_fallbacks_and_answers_that_do_not_fit_are_told_apart() -> None:
    texts = iter(["no json", "{}"])
    fallback = scripted(lookup_then("done"), "second").model
    action, task = chat_action(failing(9, None), fallbacks=[fallback], max_retries=0), new(ask())
    first = await action.handle(task)
    second = await action.handle(resume(task, first))
    told = [(entry.round, entry.attempt, entry.outcome, entry.model) for entry in (*first.journal, *second.journal)]
    assert told == [(1, 1, "failed", "function:scripted"), (1, 2, "success", "second"), (2, 1, "success", "second")]
    asked_again = chat_action(lambda *_: says(next(texts)), output_type={"type": "object"})
    effects = await asked_again.handle(new(ask()))
    assert [(entry.round, entry.attempt, entry.outcome) for entry in effects.journal] == [
        (1, 1, "success"),
        (1, 2, "success"),
    ]


async def test_rounds_without_a_tool_that_there_is_count_as_rounds() -> None:
    replies = iter([calls("ada", name="nope"), says("sorry")])
    effects = await chat_action(lambda *_: next(replies)).handle(new(ask()))
    assert [(entry.round, entry.attempt) for entry in effects.journal] == [(1, 1), (2, 1)]


async def test_a_call_that_the_deadline_ends_is_in_it() -> None:
    async def hang(*_: Any) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    effects = await chat_action(hang).handle(new(ask(), seconds=0.2))
    response = response_of(effects)
    assert response.error is not None
    assert response.error.type == "deadline_exceeded"
    assert [(entry.outcome, entry.error_type) for entry in effects.journal] == [("cancelled", None)]


async def test_a_call_that_ran_out_of_time_and_a_refusal() -> None:
    async def hang(*_: Any) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    effects = await chat_action(hang, timeout=0.05, max_retries=0).handle(new(ask()))
    assert [(entry.outcome, entry.error_type) for entry in effects.journal] == [("failed", "timeout")]
    refused = ModelResponse(parts=[], finish_reason="content_filter", usage=says("").usage)
    effects = await chat_action(lambda *_: refused).handle(new(ask()))
    assert [(entry.outcome, entry.error_type, entry.usage) for entry in effects.journal] == [
        ("failed", "refused", {"promptTokens": 10, "completionTokens": 3})
    ]


async def test_the_content_is_the_conversation_in_the_form_of_chat_messages() -> None:
    action, task = chat_action(lookup_then("done"), instructions="Be brief."), new(ask("who is ada?"))
    first = await action.handle(task)
    second = await action.handle(resume(task, first))
    content = json_form(second.journal[0].content, "content")
    call = {"id": "provider-0", "type": "function", "function": {"name": "lookup", "arguments": {"customer": "ada"}}}
    assert content == {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "who is ada?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "found", "extra_args": {"external_id": "provider-0"}},
        ],
        "reply": {"role": "assistant", "content": "done"},
    }


async def test_the_content_of_a_failed_call_is_what_the_provider_said() -> None:
    effects = await chat_action(failing(9, None), max_retries=0).handle(new(ask("hello")))
    content = json_form(effects.journal[0].content, "content")
    assert content == {
        "messages": [{"role": "user", "content": "hello"}],
        "error": '{"message":"the prompt was s3cret"}',
    }


@pytest.mark.parametrize("capture", [False, True])
async def test_content_stands_in_no_failed_response_unless_it_may(*, capture: bool) -> None:
    """Prompts, answers and what a provider says; the journal has a setting of its own."""
    bad = says('{"n": "s3cret"}')
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    ends = [
        chat_action(failing(9, None), capture_content=capture, max_retries=0),
        chat_action(lambda *_: bad, capture_content=capture, max_retries=0, output_type=schema),
        chat_action(lambda *_: calls("s3cret"), capture_content=capture, max_tool_rounds=0),
        chat_actions({"assistant": scripted(_bug)}, capture_content=capture),
    ]
    told = []
    for action in ends:
        response = response_of(await action.handle(new(ask("s3cret"))))
        told.append("s3cret" in jsonio.dumps(response.to_dict()["attributes"]).decode())
    assert told == ([True, True, False, True] if capture else [False] * 4)


def _bug(*_: Any) -> ModelResponse:
    raise KeyError("s3cret")
