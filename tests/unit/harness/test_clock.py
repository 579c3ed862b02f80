import asyncio
import time

import pytest

from parkway.testing.host import Host
from parkway.workers import times


@pytest.fixture
def host():
    host = Host(stands=True)
    yield host
    host.close()


def test_the_clock_stands_and_moves_when_it_is_told_to(host):
    before = host.clock.now_ms
    time.sleep(0.02)
    assert host.clock.now_ms == before
    host.clock.advance(minutes=2, milliseconds=5)
    assert host.clock.now_ms == before + 120_005
    assert abs(host.clock.now.timestamp() - time.time() - 120) < 5


def test_timers_fire_in_order_each_at_its_own_time(host):
    async def scenario() -> list[tuple[str, float]]:
        began, fired = host.loop.time(), []

        async def sleep(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            fired.append((name, round(host.loop.time() - began, 3)))

        tasks = [asyncio.create_task(sleep(*one)) for one in (("c", 30.0), ("a", 1.0), ("b", 2.0), ("later", 61.0))]
        await host.loop.advance(60.0)
        tasks[-1].cancel()
        return fired

    assert host.call(scenario()) == [("a", 1.0), ("b", 2.0), ("c", 30.0)]


def test_a_task_that_goes_on_after_a_timer_is_not_left_behind(host):
    async def scenario() -> int:
        rounds = 0

        async def tick() -> None:
            nonlocal rounds
            while True:
                await asyncio.sleep(1)
                rounds += 1

        task = asyncio.create_task(tick())
        await host.loop.advance(10.5)
        task.cancel()
        return rounds

    assert host.call(scenario()) == 10


def test_decisions_go_by_it_on_its_loop_only(host):
    host.clock.advance(days=2)

    async def asked() -> tuple[int, float, float]:
        return times.now_ms(), times.now(), times.monotonic()

    now_ms, now, monotonic = host.call(asked())
    assert now_ms == host.clock.now_ms
    assert now == pytest.approx(now_ms / 1000)
    assert monotonic == host.loop.time()
    assert times.now_ms() < now_ms - 86_400_000  # this thread's clock is the machine's


def test_a_closed_loop_has_no_clock_any_more():
    host = Host(stands=True)
    loop = host.loop
    host.close()
    assert loop not in times.MOVED


def test_time_passes_as_it_does_while_a_thread_is_waited_for(host):
    async def scenario() -> float:
        began = host.loop.time()
        asleep = asyncio.create_task(asyncio.to_thread(time.sleep, 0.1))
        await host.loop.idle()
        assert host.loop.waits_outside()
        while not asleep.done():
            await host.loop.pass_time()
        assert not host.loop.waits_outside()
        return host.loop.time() - began

    assert 0.05 < host.call(scenario()) < 5


def test_a_clock_that_goes_can_be_moved_ahead():
    host = Host(stands=False)
    try:
        before = host.clock.now_ms

        async def scenario() -> None:
            sleeping = asyncio.create_task(asyncio.sleep(3600))
            await asyncio.sleep(0)
            await host.loop.advance(3600)
            await asyncio.wait_for(sleeping, 3600)

        host.call(scenario())
        assert host.clock.now_ms >= before + 3_600_000
    finally:
        host.close()
