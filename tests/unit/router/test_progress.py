"""What a router commits, and under which plan's mark."""

from confluent_kafka import TopicPartition

from parkway.router.progress import Epoch, Progress
from parkway.runtime.plan_mark import PlanMark, read_mark


def at(topic: str, partition: int, offset: int, metadata: str = "") -> TopicPartition:
    return TopicPartition(topic, partition, offset, metadata) if metadata else TopicPartition(topic, partition, offset)


def test_a_batch_commits_its_own_partitions() -> None:
    progress = Progress([at("a", 0, 5, "2;s;1;plan=x"), at("b", 0, 7, "1;plan=x")], "x")
    assert progress.advance({("a", 0): 9}) == {("a", 0): 9}


def test_the_first_commit_marks_whatever_names_another_plan_or_none() -> None:
    progress = Progress([at("a", 0, 5, "2;s;1;plan=x"), at("a", 1, 0), at("b", 0, 7, "1;plan=old")], "x")
    assert progress.advance({("a", 1): 3}) == {("a", 1): 3, ("b", 0): 7}
    assert progress.advance({("a", 1): 4}) == {("a", 1): 4}


def test_after_a_swap_the_next_commit_marks_every_partition_where_it_is() -> None:
    progress = Progress([at("a", 0, 5, "1;plan=x"), at("a", 1, 6, "1;plan=x")], "x")
    progress.advance({("a", 0): 8})
    progress.swap_plan()
    assert progress.advance_idle([]) == {("a", 0): 8, ("a", 1): 6}
    assert progress.advance_idle([]) == {}


def test_an_idle_position_is_committed_once_when_it_has_moved() -> None:
    progress = Progress([at("a", 0, 5, "1;plan=x"), at("a", 1, 6, "1;plan=x")], "x")
    assert progress.advance_idle([at("a", 0, -1001), at("a", 1, 8)]) == {("a", 1): 8}
    assert progress.advance_idle([at("a", 0, -1001), at("a", 1, 8)]) == {}


def test_no_two_commits_carry_the_same_mark() -> None:
    epochs = [Epoch(None, []), Epoch(None, [])]
    marks = [one.metadata for epoch in epochs for _ in range(2) for one in epoch.offsets({("a", 0): 1}, "x")]
    assert len(set(marks)) == 4
    first, second = (read_mark(mark) for mark in marks[:2])
    assert (first, second) == (PlanMark("x", first.stamp, 1), PlanMark("x", first.stamp, 2))
