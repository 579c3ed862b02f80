"""The user action: what its errors become: attempts, dead letters, time that is up."""

import asyncio
import contextlib
import re
import threading
from datetime import UTC, datetime

import pytest
from user_actions import AT_ONCE, make, run, task

from parkway.agents import (
    ChatMessage,
    Event,
    Retry,
)
from parkway.schemas.errors import DlqReason
from parkway.workers.dispatch import now_ms
from parkway.workers.effects import Effects, Failure

# What its errors become


async def test_nothing_sent_before_failing_is_published():
    async def handle(self, event, ctx):
        ctx.send(Event(type="one", attributes={}))
        ctx.output(1)
        raise ValueError("no good")

    assert await run(handle) == Effects(failure=Failure(DlqReason.ACTION_FAILED, "ValueError: no good", 1))


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_later_attempt_counts_alone_and_starts_from_the_event_as_it_came(is_async):
    def attempt(event, ctx):
        ctx.output({"attempt": ctx.attempt, "seen": event.attributes["list"].copy()})
        event.attributes["list"].append("changed")
        if ctx.attempt < 3:
            raise TimeoutError

    def sync_handle(self, event, ctx):
        attempt(event, ctx)

    async def async_handle(self, event, ctx):
        attempt(event, ctx)

    handler = async_handle if is_async else sync_handle
    effects = await run(handler, task({"list": ["a"]}), retry=Retry(attempts=3, on=(TimeoutError,), backoff=0))
    assert effects.failure is None
    assert [event.output for event in effects.outputs] == [{"attempt": 3, "seen": ["a"]}]


async def test_attempts_end():
    calls = []

    async def handle(self, event, ctx):
        calls.append(ctx.attempt)
        raise KeyError("x")

    assert (await run(handle, retry=AT_ONCE)).failure == Failure(DlqReason.ACTION_FAILED, "KeyError: 'x'", 3)
    assert calls == [1, 2, 3]


async def test_only_the_named_exceptions_are_retried():
    calls = []

    async def handle(self, event, ctx):
        calls.append(ctx.attempt)
        raise TimeoutError if ctx.attempt == 1 else ValueError("stop")

    failure = (await run(handle, retry=Retry(attempts=9, on=(TimeoutError,), backoff=0))).failure
    assert failure == Failure(DlqReason.ACTION_FAILED, "ValueError: stop", 2)
    assert calls == [1, 2]


async def test_the_time_that_a_key_is_held_is_bounded():
    async def handle(self, event, ctx):
        raise ValueError("again")

    retry = Retry(attempts=9, backoff=60, jitter=0, max_hold=30)
    effects = await asyncio.wait_for(run(handle, retry=retry), 5)
    assert effects.failure.attempts == 1


async def test_back_off_grows():
    waits = []

    async def handle(self, event, ctx):
        raise ValueError("again")

    await run(handle, waits=waits, retry=Retry(attempts=4, backoff=1, factor=2, jitter=0))
    assert waits == [1, 2, 4]


async def test_attempts_of_another_process_count():
    async def handle(self, event, ctx):
        raise ValueError("again")

    effects = await run(handle, task(attempt=3), retry=AT_ONCE)
    assert effects.failure.attempts == 3


async def test_a_key_that_was_held_too_long_by_another_process_is_let_go():
    async def handle(self, event, ctx):
        raise ValueError("again")

    effects = await run(handle, task(attempt=2, since=now_ms() - 31_000), retry=Retry(attempts=9, max_hold=30))
    assert effects.failure.attempts == 2


async def test_the_dead_letter_says_where_and_only_with_content_what():
    def inner():
        raise ValueError("secret")

    async def handle(self, event, ctx):
        inner()

    failure = (await run(handle)).failure
    assert re.fullmatch(r"ValueError at .*test_user_failures\.py:\d+", failure.plain)
    assert failure.traceback.endswith("ValueError: secret\n")
    assert "in inner" in failure.traceback


async def test_the_place_of_an_error_within_parkway_is_the_line_that_called_it():
    async def handle(self, event, ctx):
        ChatMessage.user(3)

    failure = (await run(handle)).failure
    assert re.fullmatch(r"ValidationError at .*test_user_failures\.py:\d+", failure.plain)


# Time


@pytest.mark.parametrize("is_async", [True, False])
async def test_an_attempt_that_takes_too_long_fails_and_may_be_repeated(is_async):
    calls, may_end = [], threading.Event()

    async def async_handle(self, event, ctx):
        calls.append(ctx.attempt)
        if ctx.attempt == 1:
            await asyncio.Event().wait()
        ctx.output(ctx.attempt)

    def sync_handle(self, event, ctx):
        calls.append(ctx.attempt)
        if ctx.attempt == 1:
            may_end.wait(30)
        ctx.output(ctx.attempt)

    retry = Retry(attempts=2, on=(TimeoutError,), backoff=0)
    effects = await run(async_handle if is_async else sync_handle, retry=retry, timeout=0.1)
    may_end.set()
    assert [event.output for event in effects.outputs] == [2]
    assert calls == [1, 2]


async def test_a_timeout_without_retry_is_a_failure_that_names_it():
    async def handle(self, event, ctx):
        await asyncio.Event().wait()

    failure = (await run(handle, timeout=0.05)).failure
    assert failure == Failure(DlqReason.ACTION_FAILED, "TimeoutError: the attempt took longer than 0.05 s (timeout)", 1)
    assert failure.plain == failure.message  # where it stands in our code helps nobody


async def test_a_timeout_of_the_handlers_own_is_its_own():
    async def handle(self, event, ctx):
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()

    failure = (await run(handle, timeout=5, deadline=5)).failure
    assert failure == Failure(DlqReason.ACTION_FAILED, "TimeoutError: ", 1)


async def test_an_overdue_event_is_not_started():
    called = []

    async def handle(self, event, ctx):
        called.append(event)

    failure = (await run(handle, task(asked_deadline=now_ms() - 1), retry=AT_ONCE)).failure
    assert failure == Failure(DlqReason.DEADLINE_EXCEEDED, "event 'e1' was not handled by its deadline")
    assert not called


@pytest.mark.parametrize("given", ["header", "option"])
async def test_a_handler_is_cancelled_at_the_deadline_and_not_repeated(given):
    ended = []

    async def handle(self, event, ctx):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(ctx.attempt)

    now = now_ms()
    the_task, options = (
        (task(asked_deadline=now + 100), {}) if given == "header" else (task(since=now), {"deadline": 0.1})
    )
    failure = (await run(handle, the_task, retry=AT_ONCE, **options)).failure
    assert failure.reason == DlqReason.DEADLINE_EXCEEDED
    assert ended == [1]


@pytest.mark.parametrize("bound", ["deadline", "timeout"])
async def test_what_a_handler_brings_that_caught_its_cancellation_comes_too_late(bound):
    async def handle(self, event, ctx):
        ctx.output("late")
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    effects = await run(handle, **{bound: 0.05})
    assert effects.outputs == []
    assert effects.failure is not None
    reason = DlqReason.DEADLINE_EXCEEDED if bound == "deadline" else DlqReason.ACTION_FAILED
    assert effects.failure.reason == reason


async def test_the_deadline_of_the_event_goes_over_that_of_the_action():
    seen = []

    async def handle(self, event, ctx):
        seen.append(ctx.deadline)

    await run(handle, task(asked_deadline=4_102_444_800_000), deadline=1)
    await run(handle, task(since=4_102_444_800_000), deadline=1)
    await run(handle)
    await run(handle, task(asked_deadline=10**19))
    first, second, third, last = seen
    assert first == datetime(2100, 1, 1, tzinfo=UTC)
    assert second == datetime(2100, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert third is None
    assert last.year == 9999


async def test_no_attempt_begins_after_the_deadline():
    async def handle(self, event, ctx):
        raise ValueError("no")

    failure = (await run(handle, task(asked_deadline=now_ms() + 5_000), retry=Retry(attempts=5, backoff=60))).failure
    assert failure == Failure(DlqReason.ACTION_FAILED, "ValueError: no", 1)


async def test_cancellation_passes():
    entered = asyncio.Event()

    async def handle(self, event, ctx):
        entered.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run(handle, retry=AT_ONCE))
    await asyncio.wait_for(entered.wait(), 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_cancellation_of_the_handlers_own_making_is_a_failure():
    async def handle(self, event, ctx):
        child = asyncio.create_task(asyncio.Event().wait())
        child.cancel()
        await child

    failure = (await run(handle)).failure
    assert failure.message == "RuntimeError: the handler awaited something that was cancelled"


async def test_an_exit_of_the_handler_ends_no_worker():
    calls = []

    def handle(self, event, ctx):
        calls.append(ctx.attempt)
        raise SystemExit(3)

    assert (await run(handle, retry=AT_ONCE)).failure.message == "SystemExit: 3"
    assert calls == [1]


async def test_stop_iteration_in_a_thread_is_a_failure_and_not_a_hang():
    def handle(self, event, ctx):
        next(iter([]))

    failure = (await asyncio.wait_for(run(handle), 10)).failure
    assert failure.message == "RuntimeError: handle raised StopIteration"


async def test_expired_and_failed_go_to_the_dlq():
    user = make(lambda self, event, ctx: None)
    assert user.expired(task()).failure == Failure(
        DlqReason.DEADLINE_EXCEEDED, "event 'e1' was not handled by its deadline"
    )
    assert user.failed(task(), ValueError("bug")).failure == Failure(DlqReason.ACTION_FAILED, "ValueError: bug")
