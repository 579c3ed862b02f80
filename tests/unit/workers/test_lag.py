"""How far behind a worker is, in records and in time."""

import time
from unittest.mock import Mock

import pytest

from parkway.schemas.topics import Topics
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.completion import Completion
from parkway.workers.lag import Lag
from parkway.workers.restored import Restored
from parkway.workers.work import Epoch, Lane

NEW, RESUME = ("acme.action.chat", 0), ("acme.resume.chat", 0)


@pytest.fixture
def partition() -> Partition:
    lanes = {Lane.NEW: Completion("t", 10), Lane.RESUME: Completion("r", 0)}
    return Partition(0, Restored(lanes, {}, 0), "chat", Topics("acme"))


def test_what_is_not_taken_yet_counts_and_what_is_completed_does_not(partition: Partition) -> None:
    assert partition.places() == [NEW, RESUME]
    ends = {NEW: 20, RESUME: 3}
    assert partition.behind(ends) == 13
    for offset in (10, 11, 12):
        partition.completion(Lane.NEW).take(offset)
    assert partition.behind(ends) == 13
    partition.completion(Lane.NEW).complete([11])
    assert partition.behind(ends) == 12


def test_ends_that_are_old_or_not_known_yet_subtract_nothing(partition: Partition) -> None:
    for offset in (10, 11, 12):
        partition.completion(Lane.NEW).take(offset)
    assert partition.behind({}) == 3
    assert partition.behind({NEW: 11, RESUME: 0}) == 3


def test_control_records_count_until_they_are_passed(partition: Partition) -> None:
    assert partition.behind({NEW: 11}) == 1
    partition.completion(Lane.NEW).advance(11)
    assert partition.behind({NEW: 11}) == 0


def test_the_oldest_record_in_hand_is_the_lag_in_time(partition: Partition) -> None:
    assignment = Assignment(Epoch(1, None), {0: partition})
    assert assignment.oldest_age() == 0
    now = int(time.time() * 1000)
    partition.completion(Lane.NEW).take(10, now - 60_000)
    partition.completion(Lane.NEW).take(11, now - 30_000)
    partition.completion(Lane.RESUME).take(0, now - 90_000)
    assert 90 <= assignment.oldest_age() < 95
    partition.completion(Lane.RESUME).complete([0])
    assert 60 <= assignment.oldest_age() < 65
    partition.completion(Lane.NEW).complete([10, 11])
    assert assignment.oldest_age() == 0


def test_between_two_assignments_the_lag_is_what_it_was(partition: Partition) -> None:
    current = [Assignment(Epoch(1, None), {0: partition})]
    partition.completion(Lane.NEW).take(10)
    lag = Lag(Mock(), lambda: current[0] if current else None, Mock())
    assert lag.records() == 1
    current.clear()
    assert lag.records() == 1  # a scaler must not see a rebalance as an empty topic
    current.append(Assignment(Epoch(2, None), {}))
    assert lag.records() == 0
