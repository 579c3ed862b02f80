"""The chat action through the real OpenAI client, against a server on this machine that answers as told."""

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from provider_server import HANG, Answer, Call, OpenAIChat, Provider

from parkway.agents import ChatModel, Retry, tool
from parkway.schemas.events import ChatMessage, ChatRequestEvent, ChatResponseEvent, ToolResponseEvent
from parkway.schemas.parked import Origin, ParkedRecord
from parkway.workers.actions.chat import ChatAction
from parkway.workers.effects import Effects, Task

KEY = "sk-test-abcdef123456"
OPENAI = OpenAIChat()
ok = OPENAI.reply


def error(status: int, message: str = "the prompt was: my secret plan", **more: str) -> Answer:
    return OPENAI.error(status, message, **more)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    running = Provider()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{running.origin}/v1")
    yield running
    running.stop()


@tool
def lookup(customer: str) -> str:
    """Looks a customer up."""
    return customer


def action(*, capture_content: bool = False, max_backoff: float = 5.0, **options: Any) -> ChatAction:
    chat = ChatModel("openai-chat:gpt-test", **options)
    backoff = Retry(backoff=0.001, max_backoff=max_backoff)
    return ChatAction({"assistant": chat}, capture_content=capture_content, backoff=backoff)


def new(seconds: float = 30, **attributes: Any) -> Task:
    request = ChatRequestEvent(model="assistant", messages=[ChatMessage.user("hello")], **attributes)
    return Task(request.to_dict(), int((time.time() + seconds) * 1000))


def response_of(effects: Effects) -> ChatResponseEvent:
    assert isinstance(effects.response, ChatResponseEvent)
    return effects.response


def failure_of(effects: Effects, kind: str) -> str:
    response = response_of(effects)
    assert response.error is not None
    assert response.error.type == kind
    return response.error.message


async def test_429_and_500_are_retried_by_us_until_the_answer(provider: Provider) -> None:
    provider.script = [error(429, retry_after_ms="60"), error(500), ok("hi")]
    response = response_of(await action().handle(new()))
    assert response.response.content == "hi"
    assert response.response.extra_args == {
        "model": "assistant",
        "model_name": "served-model",
        "promptTokens": 7,
        "completionTokens": 2,
    }
    assert response.retry_count == 2
    assert response.total_retry_wait_sec >= 0.06
    assert [request["path"] for request in provider.requests] == ["/v1/chat/completions"] * 3


async def test_the_sdk_does_not_retry_beside_us(provider: Provider) -> None:
    provider.script = [error(500)]
    message = failure_of(await action(max_retries=2).handle(new()), "provider_error")
    # The SDK's default of two retries would have made nine of them.
    assert len(provider.requests) == 3
    assert [request["retries"] for request in provider.requests] == ["0", "0", "0"]
    assert "500" in message


async def test_no_retries_means_one_request(provider: Provider) -> None:
    provider.script = [error(503)]
    response = response_of(await action(max_retries=0).handle(new()))
    assert len(provider.requests) == 1
    assert response.error is not None
    assert (response.error.attempts, response.retry_count) == (1, 0)


async def test_retry_after_in_seconds_is_waited_out(provider: Provider) -> None:
    provider.script = [error(429, retry_after="1"), ok("hi")]
    response = response_of(await action().handle(new()))
    assert response.success
    assert provider.times[1] - provider.times[0] >= 1
    assert response.total_retry_wait_sec >= 1


async def test_a_retry_after_beyond_the_cap_hands_over_to_the_fallback_at_once(provider: Provider) -> None:
    provider.script = [error(429, retry_after="3600"), ok("hi")]
    response = response_of(await action(fallbacks=["openai-chat:second"]).handle(new()))
    assert response.success
    assert [request["model"] for request in provider.requests] == ["gpt-test", "second"]
    assert (response.retry_count, response.total_retry_wait_sec) == (1, 0)


async def test_a_wait_beyond_the_deadline_fails_now_and_names_the_reason(provider: Provider) -> None:
    provider.script = [error(429, retry_after="25")]
    failure_of(await action(max_backoff=30.0).handle(new(seconds=20)), "rate_limited")
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(401), "provider_error"),
        (error(400), "provider_error"),
        (error(404), "provider_error"),
        (error(429, code="insufficient_quota"), "provider_error"),
        (error(400, code="context_length_exceeded"), "context_too_long"),
    ],
)
async def test_errors_that_will_not_pass_are_not_retried_but_the_fallback_is_asked(
    provider: Provider, answer: Any, kind: str
) -> None:
    provider.script = [answer]
    failure_of(await action().handle(new()), kind)
    assert len(provider.requests) == 1
    provider.script = [answer, ok("hi")]
    response = response_of(await action(fallbacks=["openai-chat:second"]).handle(new()))
    assert response.success
    assert len(provider.requests) == 3


@pytest.mark.parametrize("reply", [ok(None, refusal="I will not"), ok("half of", finish_reason="content_filter")])
async def test_a_refusal_is_final(provider: Provider, reply: Any) -> None:
    provider.script = [reply]
    effects = await action(fallbacks=["openai-chat:second"]).handle(new(user_context={"a": 1}))
    assert "I will not" not in failure_of(effects, "refused")
    assert len(provider.requests) == 1
    response = response_of(effects)
    assert response.user_context == {"a": 1}
    assert response.error is not None
    assert response.error.usage == {"promptTokens": 7, "completionTokens": 2}


async def test_a_provider_that_says_not_to_retry_is_believed(provider: Provider) -> None:
    provider.script = [error(500, x_should_retry="false")]
    failure_of(await action().handle(new()), "provider_error")
    assert len(provider.requests) == 1


async def test_provider_errors_are_quoted_only_when_content_may_be_captured(provider: Provider) -> None:
    provider.script = [error(400, f"my secret plan, key {KEY}, Bearer {KEY}xyz")]
    plain = failure_of(await action().handle(new()), "provider_error")
    quoted = failure_of(await action(capture_content=True).handle(new()), "provider_error")
    assert "secret plan" not in plain
    assert "400" in plain
    assert "secret plan" in quoted
    assert "sk-test" not in quoted


async def test_an_authentication_error_is_never_quoted(provider: Provider) -> None:
    provider.script = [error(401, "Incorrect API key: c0rrect-h0rse")]
    assert "c0rrect" not in failure_of(await action(capture_content=True).handle(new()), "provider_error")


async def test_a_call_that_takes_too_long_is_retried(provider: Provider) -> None:
    provider.script = [HANG, ok("hi")]
    response = response_of(await action(timeout=0.3).handle(new()))
    assert response.success
    assert response.retry_count == 1


async def test_calls_that_all_take_too_long_fail_as_timeout(provider: Provider) -> None:
    provider.script = [HANG]
    failure_of(await action(timeout=0.2, max_retries=1).handle(new()), "timeout")
    assert len(provider.requests) == 2


async def test_the_deadline_of_the_request_ends_a_call_in_flight(provider: Provider) -> None:
    provider.script = [ok("hi"), HANG]
    chat = action()
    assert response_of(await chat.handle(new())).success  # so that the SDK is there
    started = time.monotonic()
    failure_of(await chat.handle(new(seconds=1.5, user_context={"a": 1})), "deadline_exceeded")
    assert time.monotonic() - started < 20
    assert len(provider.requests) == 2


async def test_the_models_own_deadline_counts_when_it_is_earlier(provider: Provider) -> None:
    provider.script = [HANG]
    failure_of(await action(deadline=0.3).handle(new()), "deadline_exceeded")


async def test_cancellation_leaves_the_action_without_a_response(provider: Provider) -> None:
    provider.script = [HANG]
    running = asyncio.create_task(action().handle(new()))
    assert await asyncio.to_thread(provider.arrived.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_provider_that_is_not_there_is_retried(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:  # bound but not listening: every connection is refused
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
        response = response_of(await action(max_retries=2).handle(new()))
    assert response.error is not None
    assert response.error.type == "provider_error"
    assert response.error.attempts == 3


async def test_a_missing_key_is_named_and_the_fallback_is_asked(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script = [ok("hi")]
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    chat = ChatModel("anthropic:claude-haiku-4-5", fallbacks=["openai-chat:second"])
    alone = ChatModel("anthropic:claude-haiku-4-5")
    both = ChatAction({"assistant": chat, "alone": alone}, backoff=Retry(backoff=0))
    assert response_of(await both.handle(new())).success
    request = ChatRequestEvent(model="alone", messages=[ChatMessage.user("hello")])
    failed = await both.handle(Task(request.to_dict(), int(time.time() * 1000) + 30_000))
    assert "ANTHROPIC_API_KEY" in failure_of(failed, "provider_error")


async def test_a_tool_round_over_the_wire(provider: Provider) -> None:
    provider.script = [ok(None, [Call("lookup", '{"customer": "ada"}', "call_1")]), ok("done")]
    chat, task = action(tools=[lookup], instructions="Be brief."), new(user_context={"a": 1})
    effects = await chat.handle(task)
    assert effects.park is not None
    (request,) = effects.events
    record = ParkedRecord(
        build="b", action="chat", record_key=None, origin=Origin(topic="t", partition=0, offset=0),
        request=dict(task.event), request_hash="h", round=1, waits_for=request.id,
        pending_calls=effects.park.pending_calls, deadline=task.deadline, state=dict(effects.park.state),
    )  # fmt: skip
    (call_id,) = effects.park.pending_calls
    answer = ToolResponseEvent(request_id=request.id, responses={call_id: {"name": "Ada"}})
    response = response_of(await chat.handle(Task(answer.to_dict(), task.deadline, record)))
    assert response.response.content == "done"
    assert response.response.extra_args["promptTokens"] == 14
    assert response.user_context == {"a": 1}
    first, second = provider.requests
    assert [each["function"]["name"] for each in first["tools"]] == ["lookup"]
    assert first["messages"][0] == {"role": "system", "content": "Be brief."}
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool"]
    assert second["messages"][2]["tool_calls"][0]["id"] == "call_1"
    assert second["messages"][3] == {"role": "tool", "tool_call_id": "call_1", "content": '{"name":"Ada"}'}


async def test_structured_output_is_asked_for_natively_without_tools(provider: Provider) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    provider.script = [ok('{"n": "one"}'), ok('{"n": 1}')]
    response = response_of(await action().handle(new(output_schema=schema)))
    assert response.response.content == '{"n": 1}'
    assert provider.requests[0]["response_format"]["type"] == "json_schema"
    assert "$.n" in provider.requests[1]["messages"][-1]["content"]
