"""Back-pressure: what holds up one partition, by the offsets that its map spans or by memory, holds up that one only."""

from types import SimpleNamespace
from typing import Any

import pytest

from parkway.runtime.records import Incoming
from parkway.schemas.topics import Topics
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.backlog import Backlog
from parkway.workers.completion import Completion
from parkway.workers.held import Lines
from parkway.workers.held_up import HeldUp
from parkway.workers.in_hand import InHand, size_of
from parkway.workers.queues import Queues
from parkway.workers.restored import Restored
from parkway.workers.wants import Wants
from parkway.workers.work import Epoch, Lane, Work

TOPICS = Topics("ns")
SPAN = 16_000


class Taker:
    """Notes what is wanted."""

    lane = Lane.NEW

    def __init__(self) -> None:
        self.records = 0
        self.full: frozenset[int] = frozenset()

    def want(self, records: int, full: frozenset[int]) -> None:
        self.records, self.full = records, full


class Bench:
    """Three partitions of an action that handles one record of a key at a time; a record of `key` runs in each."""

    def __init__(self, buffer: int = 64_000_000, *, limited: bool = False) -> None:
        self.epoch = Epoch(1, None)
        self.in_hand, self.held_up = InHand(buffer), HeldUp(buffer)
        self.queues = Queues(self.held_up, by_key=True)
        lines = Lines(lambda: None)
        action: Any = SimpleNamespace(limiter=lambda _: None)
        self.backlog = Backlog(action, self.queues, lines, self.held_up, concurrency=1, max_open=None)
        self.group: Any = Taker()
        self.assignment = self._assigned()
        self.wants = Wants(
            "handle",
            self.group,
            None,
            self.backlog,
            self.in_hand,
            self.held_up,
            self._governor(limited=limited),
            current=lambda: self.assignment,
            largest_span=SPAN,
        )
        self.wants.update()

    def _assigned(self) -> Assignment:
        restored = {number: Restored({Lane.NEW: Completion("topic-id", 0)}, {}, 0) for number in range(3)}
        partitions = {number: Partition(number, one, "handle", TOPICS) for number, one in restored.items()}
        return Assignment(self.epoch, partitions)

    @staticmethod
    def _governor(*, limited: bool) -> Any:
        return SimpleNamespace(is_limited=limited)

    def take(self, partition: int, count: int, key: bytes = b"hot", value: bytes = b"") -> list[Work]:
        """As many records as this; they are started where their key is free, or put behind it."""
        one = self.assignment.partitions[partition]
        completion = one.completion(Lane.NEW)
        works = []
        for offset in range(completion.next, completion.next + count):
            works.append(Work(self.epoch, Lane.NEW, Incoming("t", partition, offset, 0, key, value, [])))
            completion.take(offset)
            self.in_hand.add(works[-1])
            self.queues.take_key(one, works[-1])
        self.wants.update()
        return works

    def complete(self, *works: Work) -> None:
        for work in works:
            partition = self.assignment.partitions[work.partition]
            self.queues.release_key(partition, work)
            partition.completion(Lane.NEW).complete([work.record.offset])
            self.in_hand.completed({work.partition: {Lane.NEW: [work.record.offset]}})
        self.wants.update()


def test_ten_thousand_records_behind_a_key_stop_nothing() -> None:
    bench = Bench()
    bench.take(0, 10_000)
    assert bench.group.records >= 500
    assert bench.group.full == frozenset()


def test_a_map_that_is_nearly_full_stops_its_partition_only() -> None:
    bench = Bench()
    slow, *others = bench.take(0, SPAN - 900)
    assert bench.group.full == {0}
    assert bench.group.records >= 500
    bench.complete(slow, *others[:1_000])
    assert bench.group.full == {0}, "not for a few: to take a partition up again costs up to a second"
    bench.complete(*others[1_000:3_200])
    assert bench.group.full == frozenset()


def test_what_is_wanted_fits_into_every_map_that_is_not_full() -> None:
    bench = Bench()
    bench.backlog._buffer = SPAN
    bench.take(1, SPAN - 1_200)
    assert bench.group.full == frozenset()
    assert bench.group.records == 1_200
    bench.take(1, 300)
    assert bench.group.full == {1}
    assert bench.group.records == SPAN


def test_what_waits_behind_a_key_may_take_half_of_what_is_free() -> None:
    buffer = 1_000_000
    bench = Bench(buffer)
    size = size_of(Incoming("t", 0, 0, 0, b"hot", b"x" * 500, []))
    most = int(0.75 * buffer / 2 / size)
    works = bench.take(0, most, value=b"x" * 500)
    assert bench.group.full == frozenset()
    works += bench.take(0, 3, value=b"x" * 500)
    assert bench.group.full == {0}
    assert bench.group.records >= 400, "as many as there is memory for"
    bench.take(1, most // 2 + 3, value=b"x" * 500)
    assert bench.group.full == {0, 1}
    bench.take(2, 1, value=b"x" * 500)
    assert bench.group.full == {0, 1}, "the third one goes on"
    bench.complete(*works)
    assert bench.group.full == frozenset()


def test_more_behind_a_key_than_may_be_held_up_stops_no_other() -> None:
    """They waited for a free handler before, where nobody knows that a key will be busy."""
    bench = Bench(buffer=1_000_000)
    works = bench.take(0, 400, value=b"x" * 2_000)
    assert bench.in_hand.bytes(Lane.NEW) > 1_000_000
    assert bench.group.full == {0}
    assert bench.group.records >= 50
    bench.take(1, 2)
    assert bench.group.full == {0}, "one behind another is nothing"
    bench.complete(*works)
    assert bench.group.full == frozenset()
    assert bench.group.records >= 100, "the others are ready to start"


def test_what_is_held_up_is_bounded_all_the_same() -> None:
    bench = Bench(buffer=1_000_000)
    bench.take(0, 400, value=b"x" * 5_000)
    assert bench.group.records == 0


def test_all_full_is_nothing_wanted() -> None:
    bench = Bench()
    for partition in range(3):
        bench.take(partition, SPAN - 500)
    assert bench.group.full == {0, 1, 2}
    assert bench.group.records == 0


@pytest.mark.parametrize(("limited", "full"), [(False, {0}), (True, set())])
def test_what_waits_behind_keys_keeps_no_suspects_out(limited: bool, full: set[int]) -> None:
    bench = Bench(100_000, limited=limited)
    partition = bench.assignment.partitions[0]
    partition.awaits_suspects = lambda: True  # type: ignore[method-assign]
    bench.take(0, 60)
    assert bench.group.full == full


def test_a_new_epoch_begins_with_nothing_full() -> None:
    bench = Bench()
    bench.take(0, SPAN - 500)
    assert bench.group.full == {0}
    bench.epoch = Epoch(2, None)
    bench.held_up.clear()
    bench.in_hand.clear()
    bench.assignment = bench._assigned()
    bench.wants.update()
    assert bench.group.full == frozenset()
