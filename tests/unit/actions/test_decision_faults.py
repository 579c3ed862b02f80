"""Decisions of a host that fails, is slow, is gone or answers badly: retries, fallbacks, failed responses."""

import asyncio
import socket
import sys
import time
from email.utils import formatdate
from typing import Any

import pytest
from decision_hosts import (
    GOOD,
    KEY,
    OPENAI,
    PICKED,
    PREDICATE,
    RATED,
    SYSTEM_ONE,
    action,
    failure,
    new,
    response,
    response_of,
)
from decision_server import CUT, HANG, Host, choice, error, noul, openai, score, system_one

from parkway.agents import Choice, DecisionTable


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_errors_that_may_pass_are_retried(host: Host, status: int) -> None:
    host.script = [error(status), GOOD]
    answered = await response(action())
    assert answered.success
    assert (answered.retry_count, len(host.requests)) == (1, 2)


@pytest.mark.parametrize("model", [SYSTEM_ONE, OPENAI])
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 413, 422, 425])
async def test_a_4xx_other_than_408_and_429_is_never_retried(host: Host, status: int, model: str) -> None:
    detail = [{"loc": ["body", "questions"], "msg": "my secret plan", "type": "value_error"}]
    host.script = [error(status, detail, x_should_retry="true")]
    message = await failure(action(model), "provider_error")
    assert len(host.requests) == 1
    assert str(status) in message
    assert "secret" not in message


async def test_the_detail_of_a_refused_request_is_quoted_when_content_may_be_captured(host: Host) -> None:
    detail = [{"loc": ["body", "questions", "queue", "criteria"], "msg": f"256 options, key {KEY}", "type": "too_long"}]
    host.script = [error(400, detail)]
    message = await failure(action(capture_content=True), "provider_error")
    assert "256 options" in message
    assert "sk-test" not in message


async def test_the_last_error_after_all_attempts(host: Host) -> None:
    host.script = [error(529)]
    failed = await response(action(max_retries=2), new(user_context={"a": 1}))
    assert failed.error is not None
    assert (failed.error.type, failed.error.attempts, failed.retry_count) == ("provider_error", 3, 2)
    assert len(host.requests) == 3
    assert failed.user_context == {"a": 1}
    host.script = [error(429)]
    await failure(action(max_retries=0), "rate_limited")


async def test_the_sdk_does_not_retry_beside_us(host: Host) -> None:
    host.script = [error(500)]
    await failure(action(OPENAI, max_retries=1), "provider_error")
    assert [headers["x-stainless-retry-count"] for headers in host.headers] == ["0", "0"]


async def test_retry_after_ms_goes_before_retry_after(host: Host) -> None:
    host.script = [error(429, retry_after="3600", retry_after_ms="80"), GOOD]
    answered = await response(action())
    assert answered.success
    assert host.times[1] - host.times[0] >= 0.08
    assert 0.08 <= answered.total_retry_wait_sec < 3


async def test_retry_after_in_seconds_or_as_a_date_is_waited_out(host: Host) -> None:
    host.script = [error(503, retry_after="1"), GOOD]
    assert (await response(action())).success
    assert host.times[1] - host.times[0] >= 1
    host.times.clear()
    host.script = [error(429, retry_after=formatdate(time.time() + 2, usegmt=True)), GOOD]
    assert (await response(action())).success
    assert host.times[1] - host.times[0] >= 0.9  # a date has no fractions


async def test_a_retry_after_beyond_the_cap_hands_over_to_the_fallback_at_once(host: Host) -> None:
    host.script = [error(429, retry_after="3600"), openai(PREDICATE, PICKED, RATED)]
    answered = await response(action(fallbacks=[OPENAI]))
    assert answered.success
    assert [request["path"] for request in host.requests] == ["/v1/systemone", "/v1/decisions"]
    assert (answered.retry_count, answered.total_retry_wait_sec) == (1, 0)
    assert answered.usage is not None
    assert answered.usage["model_name"] == "gpt-6-luna-1"


async def test_a_wait_beyond_the_deadline_fails_now_and_names_the_reason(host: Host) -> None:
    host.script = [error(429, retry_after="4")]
    await failure(action(), "rate_limited", new(seconds=2))
    assert len(host.requests) == 1


async def test_fallbacks_are_asked_in_order_and_may_be_tables(host: Host) -> None:
    table = DecisionTable([{"when": "text == ''", "queue": "billing"}], default={"queue": "other"})
    host.script = [error(404), error(422)]
    questions = {"queue": Choice(["billing", "other"])}
    answered = await response(action(fallbacks=[OPENAI, table]), new(questions=questions))
    assert answered.success
    assert answered.answers["queue"]["choice"] == "other"
    assert answered.answers["queue"]["probabilities"] is None
    assert len(host.requests) == 2
    assert answered.retry_count == 2


NOT_ONE = [
    system_one(refund=noul(0.97)),  # answers are missing
    (200, {}, "<html>maintenance</html>"),
    (200, {}, {"answers": {}}),
    (200, {}, []),
    (200, {}, ""),
    system_one(refund=noul(1.2), queue=choice("other", billing=0.1, other=0.9), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("none", billing=0.1, other=0.9), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("other", billing=0.1, other=0.8), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("other", other=1.0), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("other", billing=-0.1, other=1.1), anger=score(0, 1, 0, 0)),
    system_one(refund=noul(0.2), queue=choice("other", billing=0, other=1), anger=score(2.5, 0, 0, 1)),
    system_one(refund=noul(0.2), queue=choice("other", billing=0, other=1), anger=noul(0.5)),
    system_one(
        refund=noul(0.2), queue=choice("other", billing=0, other=1), anger=score(0, 1, 0, 0), more=noul(0.1)
    ),
    system_one(refund={"type": "poem"}, queue=choice("other", billing=0, other=1), anger=score(0, 1, 0, 0)),
    system_one(refund={"type": "noul", "noul": "NaN"}, queue=choice("other", billing=0, other=1), anger=score(0, 1, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("answer", NOT_ONE)
async def test_a_200_with_a_bad_body_is_a_failure_and_not_repeated(host: Host, answer: Any) -> None:
    host.script = [answer]
    await failure(action(), "output_invalid")
    assert len(host.requests) == 1


async def test_the_fallback_is_asked_after_a_bad_body(host: Host) -> None:
    host.script = [NOT_ONE[1], openai(PREDICATE, PICKED, RATED)]
    assert (await response(action(fallbacks=[OPENAI]))).success


async def test_a_cut_connection_is_retried(host: Host) -> None:
    host.script = [CUT, GOOD]
    answered = await response(action())
    assert answered.success
    assert answered.retry_count == 1


async def test_a_slow_host_is_asked_again_and_then_a_timeout(host: Host) -> None:
    host.script = [HANG, GOOD]
    assert (await response(action(timeout=0.3))).success
    host.script = [HANG]
    await failure(action(timeout=0.2, max_retries=1), "timeout")
    assert len(host.requests) == 4


async def test_a_host_that_is_not_there_is_retried(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:  # bound but not listening: every connection is refused
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("SYSTEM_ONE_BASE_URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        failed = await response(action(max_retries=2))
    assert failed.error is not None
    assert (failed.error.type, failed.error.attempts) == ("provider_error", 3)


async def test_the_deadline_ends_a_call_in_flight_and_says_so(host: Host) -> None:
    host.script = [HANG]
    effects = await action().handle(new(seconds=0.4, user_context={"a": 1}))
    failed = response_of(effects)
    assert failed.error is not None
    assert failed.error.type == "deadline_exceeded"
    assert failed.user_context == {"a": 1}
    assert [(entry.outcome, entry.attempt) for entry in effects.journal] == [("cancelled", 1)]
    await failure(action(deadline=0.3), "deadline_exceeded")


async def test_cancellation_leaves_the_action_without_a_response(host: Host) -> None:
    host.script = [HANG]
    running = asyncio.create_task(action().handle(new()))
    assert await asyncio.to_thread(host.arrived.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(("model", "name"), [(SYSTEM_ONE, "SYSTEM_ONE_BASE_URL"), (OPENAI, "OPENAI_API_KEY")])
async def test_what_is_missing_in_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, model: str, name: str
) -> None:
    for each in ("SYSTEM_ONE_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(each, raising=False)
    assert name in await failure(action(model), "provider_error")


async def test_a_missing_package_is_named_with_its_extra(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pydantic_ai.models.openai_decisions", raising=False)
    monkeypatch.setitem(sys.modules, "openai", None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, "openai.types", None)
    assert "parkway[openai]" in await failure(action(OPENAI), "provider_error")
