"""What starts next: order of a key, continuations, limits, and how much more may be taken."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from parkway.runtime.records import Incoming
from parkway.workers.backlog import Backlog, Start
from parkway.workers.effects import Task
from parkway.workers.held import BackOff, Lines
from parkway.workers.held_up import HeldUp
from parkway.workers.limiter import Limiter
from parkway.workers.queues import Queues
from parkway.workers.share import Share
from parkway.workers.slots import Slots
from parkway.workers.work import Epoch, Held, Lane, Work

EPOCH = Epoch(1, None)
ALL = Share(frozenset({0}), 1)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A backlog with one partition, and an action whose tasks are limited by their event's `limit`."""

    def __init__(self, *, by_key: bool = False, max_open: int = 10, limiters: dict[str, Limiter] | None = None) -> None:
        self.limiters = limiters or {}
        self.woken = asyncio.Event()
        self.clock = Clock()
        self.open = 0
        self.awaiting = 0
        self.caught_up = True
        self.partition: Any = SimpleNamespace(behind_key={})
        self.assignment: Any = SimpleNamespace(
            partitions={0: self.partition},
            open_requests=lambda: self.open,
            awaiting_person=lambda: self.awaiting,
            caught_up=lambda: self.caught_up,
        )
        action: Any = SimpleNamespace(limiter=lambda task: self.limiters.get(task.event.get("limit")))
        lines = Lines(self.woken.set)
        self.held_up = HeldUp(4_000_000)
        queues = Queues(self.held_up, by_key=by_key)
        self.backlog = Backlog(action, queues, lines, self.held_up, concurrency=1, max_open=max_open, max_awaiting=100)
        self.backlog._back_off = BackOff(self.clock)
        self.offset = 0

    def work(
        self, key: bytes | None = None, lane: Lane = Lane.NEW, limit: str | None = None, value: bytes = b""
    ) -> Work:
        self.offset += 1
        work = Work(EPOCH, lane, Incoming("t", 0, self.offset, 0, key, b"", []))
        work.event = {"limit": limit}
        return work

    def put(self, *works: Work) -> None:
        for work in works:
            self.backlog.put(work)

    def run(self) -> list[int]:
        """Start whatever may start, as a worker with endless slots does: offsets, in order."""
        started = []
        while (found := self.backlog.next(self.assignment)) is not None:
            start = found if isinstance(found, Start) else self.backlog.admit(held(found))
            if start is not None:
                started.append(start.held.work.record.offset)
        return started


def held(work: Work, **task: Any) -> Held:
    return Held(work, Task(work.event, 0, **task))


def test_a_key_in_back_off_keeps_its_place_and_others_go_on() -> None:
    bench = Bench(by_key=True)
    first, behind, other = bench.work(b"a"), bench.work(b"a"), bench.work(b"b")
    bench.put(first, behind, other)
    assert bench.run() == [1, 3]
    bench.backlog.put_off(held(first), 5)
    assert bench.run() == []
    assert bench.backlog.wait() == 5
    bench.clock.now = 5
    assert bench.run() == [1]
    bench.backlog.release_key(bench.partition, first)
    assert bench.run() == [2]


def test_continuations_go_first_and_new_work_stops_at_max_open() -> None:
    bench = Bench(max_open=3)
    bench.put(bench.work(), bench.work(lane=Lane.RESUME), bench.work(), bench.work(lane=Lane.RESUME))
    bench.open = 3
    assert bench.run() == [2, 4]
    bench.open = 2
    assert bench.run() == [1, 3]


async def test_what_waits_for_a_limit_lets_others_past_and_continuations_go_first() -> None:
    limiter = Limiter("m", concurrency=1)
    limiter.own(ALL)
    bench = Bench(limiters={"m": limiter})
    permit = limiter.try_take()
    assert permit is not None
    new, free = bench.work(limit="m"), bench.work()
    bench.put(new, free, bench.work(limit="m", lane=Lane.RESUME))
    assert bench.run() == [2]
    permit.end()
    await asyncio.wait_for(bench.woken.wait(), 5)
    assert bench.run() == [3]


async def test_what_waits_for_a_limit_does_not_count_as_open() -> None:
    limiter = Limiter("m", concurrency=1)
    bench = Bench(max_open=2, limiters={"m": limiter})
    bench.put(*(bench.work(limit="m") for _ in range(5)), bench.work())
    bench.assignment.open_requests = lambda: bench.backlog._lines.waiting(Lane.NEW)  # those in line hold claims
    assert bench.run() == [6]


def test_what_is_overdue_leaves_and_says_what_it_waited_for() -> None:
    bench = Bench(limiters={"m": Limiter("chat model m", concurrency=1)})
    late, in_time = bench.work(limit="m"), bench.work(limit="m")
    assert bench.backlog.admit(held(late, asked_deadline=1_000)) is None
    assert bench.backlog.admit(held(in_time, asked_deadline=3_000)) is None
    bench.backlog.put_off(held(bench.work(), asked_deadline=1_500), 60)
    found = bench.backlog.remove_overdue(2_000)
    assert {(one.work.record.offset, one.task.held_up_by) for one in found} == {(1, "chat model m"), (3, None)}
    assert bench.backlog.remove_overdue(2_000) == []
    assert bench.backlog.wait() is None


def test_a_key_that_fails_does_not_fill_the_buffer_of_the_others() -> None:
    bench = Bench(by_key=True)
    first = bench.work(b"a")
    bench.put(first, *(bench.work(b"a") for _ in range(10_000)))
    assert bench.backlog.room(Lane.NEW) <= 0
    assert bench.run() == [1]
    assert bench.backlog.room(Lane.NEW) > 0
    assert len(bench.held_up) == 10_000
    assert bench.held_up.share_used(Lane.NEW, 0) >= 1.0


def test_when_everything_fails_nothing_more_is_taken() -> None:
    bench = Bench(by_key=True)
    for _ in range(4_999):
        bench.backlog.put_off(held(bench.work()), 5)
    assert bench.backlog.room(Lane.NEW) == 1
    bench.backlog.put_off(held(bench.work()), 5)
    assert bench.backlog.room(Lane.NEW) == 0
    assert bench.backlog.room(Lane.RESUME) > 0
    bench.clock.now = 5
    bench.run()
    assert bench.backlog.room(Lane.NEW) > 0


def test_what_waits_no_more_holds_up_nothing() -> None:
    bench = Bench(by_key=True)
    first, second = bench.work(b"a"), bench.work(b"a")
    bench.put(first, second)
    assert bench.run() == [1]
    bench.backlog.put_off(held(first), 5)
    assert len(bench.held_up) == 2
    bench.clock.now = 5
    assert bench.run() == [1]
    assert len(bench.held_up) == 1
    bench.backlog.put_off(held(first, asked_deadline=1), 5)
    assert bench.backlog.remove_overdue(2)
    bench.backlog.release_key(bench.partition, first)
    assert bench.run() == [2]
    assert len(bench.held_up) == 0
    assert bench.held_up.share_used(Lane.NEW, 0) == 0.0


def test_a_cancelled_request_leaves_its_line() -> None:
    bench = Bench(limiters={"m": Limiter("m", concurrency=1)})
    works = [bench.work(limit="m") for _ in range(3)]
    for number, work in enumerate(works):
        work.request_id = f"r{number}"
        bench.backlog.admit(held(work))
    assert bench.backlog.remove(0, "r1") is works[1]
    assert bench.backlog.remove(0, "r1") is None
    assert bench.backlog.remove(1, "r2") is None


async def test_slots_go_round() -> None:
    slots = Slots(1)
    order: list[str] = []

    def worker(name: str) -> Callable[[], None]:
        def pump() -> None:
            if slots.available(pump):
                order.append(name)
                slots.take()
                loop.call_soon(slots.give_back)
                slots.available(pump)  # it has more to do

        return pump

    loop = asyncio.get_running_loop()
    for name in "abc":
        worker(name)()
    async with asyncio.timeout(5):
        for _ in range(100):
            await asyncio.sleep(0)
    assert order[4:10] == list("abcabc")


@pytest.mark.parametrize("idle", [True, False])
async def test_a_slot_that_a_woken_worker_does_not_need_is_passed_on(idle: bool) -> None:
    slots = Slots(1)
    slots.take()
    woken = asyncio.Event()
    if idle:
        assert not slots.available(slots.pass_on)
    assert not slots.available(woken.set)
    slots.give_back()
    await asyncio.wait_for(woken.wait(), 5)


def test_new_work_waits_for_the_continuations_that_were_there_before() -> None:
    bench = Bench()
    bench.caught_up = False
    bench.put(bench.work(b"a"))
    assert bench.run() == []
    bench.caught_up = True
    assert len(bench.run()) == 1


def test_what_waits_for_people_has_a_bound_of_its_own() -> None:
    bench = Bench(max_open=10)
    new, continuation = bench.work(), bench.work(lane=Lane.RESUME)
    bench.put(new, continuation)
    bench.open, bench.awaiting = 9, 100
    assert bench.backlog.next(bench.assignment) is continuation
    assert bench.backlog.next(bench.assignment) is None
    bench.awaiting = 99
    assert bench.backlog.next(bench.assignment) is new
