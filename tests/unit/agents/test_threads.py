"""Sync calls that were cancelled: no thread can be stopped, so somebody must hear of them."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from parkway.agents import threads


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("not within 20 s")


async def test_calls_that_go_on_after_they_were_cancelled_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST", 2)
    before, end = threads.running(), threading.Event()
    calls = [asyncio.create_task(threads.run_in_thread(end.wait)) for _ in range(2)]
    try:
        await until(lambda: threads.running() == before + 2)
        assert threads.left_running() is None
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert "2 of 2 threads" in (threads.left_running() or "")
        assert "timeout of its own" in (threads.why_starved() or "")
    finally:
        end.set()
    await until(lambda: threads.running() == before)
    assert threads.left_running() is None
    assert threads.why_starved() is None


async def test_a_call_that_ends_in_time_is_no_such_call() -> None:
    assert await threads.run_in_thread(lambda: 7) == 7
    assert threads.left_running() is None
