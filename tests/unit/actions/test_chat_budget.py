"""`usage_limits`: what one request may use, over rounds, retries, fallbacks and the death of its worker."""

from typing import Any

import pytest
from chats import ask, calls, chat_action, failure_of, lookup_then, new, response_of, resume, says, scripted
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse

from parkway.agents import AgentError, ChatModel, UsageLimits

# A reply of `says` and `calls` uses 10 input tokens and 3 output tokens.


def broken(*_: Any) -> ModelResponse:
    raise ModelHTTPError(503, "broken")


def limited(reply: Any, limits: UsageLimits, **options: Any) -> Any:
    return chat_action(reply, usage_limits=limits, **options)


async def test_request_limit_counts_over_rounds_and_workers() -> None:
    limits = UsageLimits(request_limit=2)
    task = new(ask(user_context={"a": 1}))
    work = task
    for _ in range(2):
        work = resume(task, await limited(lambda *_: calls("ada"), limits).handle(work))
    effects = await limited(lambda *_: calls("ada"), limits).handle(work)
    assert failure_of(effects, "budget_exceeded") == (
        "The next request would exceed the request_limit of 2; used: 2 model calls, 20 input tokens, 6 output tokens, "
        "2 tool calls"
    )
    response = response_of(effects)
    assert response.error is not None
    assert response.error.usage == {"promptTokens": 20, "completionTokens": 6}
    assert response.error.attempts == 2
    assert response.user_context == {"a": 1}


async def test_request_limit_counts_retries_and_fallbacks() -> None:
    fallback = scripted(lambda *_: says("never")).model
    action = limited(broken, UsageLimits(request_limit=3), max_retries=2, fallbacks=[fallback])
    message = failure_of(await action.handle(new(ask())), "budget_exceeded")
    assert "request_limit of 3" in message
    assert message.endswith("the last call failed: provider_error")


async def test_the_last_call_within_the_limit_answers() -> None:
    response = response_of(await limited(lambda *_: says("hi"), UsageLimits(request_limit=1)).handle(new(ask())))
    assert response.success


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"input_tokens_limit": 9}, "input_tokens_limit of 9"),
        ({"output_tokens_limit": 2}, "output_tokens_limit of 2"),
        ({"total_tokens_limit": 12}, "total_tokens_limit of 12"),
        ({"per_request_input_tokens_limit": 9}, "per_request_input_tokens_limit of 9"),
    ],
)
async def test_token_limits_are_checked_after_the_call(limits: Any, named: str) -> None:
    effects = await limited(lambda *_: says("hi"), UsageLimits(**limits)).handle(new(ask()))
    message = failure_of(effects, "budget_exceeded")
    assert named in message
    assert "used: 1 model calls, 10 input tokens, 3 output tokens, 0 tool calls" in message
    exactly = {name: limit + 1 for name, limit in limits.items()}
    assert response_of(await limited(lambda *_: says("hi"), UsageLimits(**exactly)).handle(new(ask()))).success


async def test_token_limits_hold_over_rounds() -> None:
    limits = UsageLimits(total_tokens_limit=25)
    task = new(ask())
    effects = await limited(lookup_then("done"), limits).handle(task)
    failed = await limited(lookup_then("done"), limits).handle(resume(task, effects))
    assert "total_tokens_limit of 25" in failure_of(failed, "budget_exceeded")


async def test_tool_calls_limit_is_checked_before_the_tools_run() -> None:
    limits = UsageLimits(tool_calls_limit=2)
    effects = await limited(lambda *_: calls("ada", "bob", "cy"), limits).handle(new(ask()))
    assert "tool_calls_limit of 2" in failure_of(effects, "budget_exceeded")
    task = new(ask())
    first = await limited(lambda *_: calls("ada", "bob"), limits).handle(task)
    second = await limited(lambda *_: calls("cy"), limits).handle(resume(task, first))
    assert "(tool_calls=3)" in failure_of(second, "budget_exceeded")


async def test_answers_that_do_not_fit_count_too() -> None:
    action = limited(lambda *_: says("no json"), UsageLimits(request_limit=2), output_type={"type": "object"})
    effects = await action.handle(new(ask()))
    assert "request_limit of 2" in failure_of(effects, "budget_exceeded")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (UsageLimits(count_tokens_before_request=True), "count_tokens_before_request=...\\)\\): not supported"),
        (UsageLimits(cost_limit=1), "cost_limit=...\\)\\): not supported"),  # type: ignore[arg-type]
        ({"request_limit": 1}, "UsageLimits, such as"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(limits: Any, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        ChatModel("test", usage_limits=limits)
