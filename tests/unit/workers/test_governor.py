from dataclasses import dataclass, field

import pytest

from parkway.runtime.records import Incoming
from parkway.workers.governor import Governor
from parkway.workers.work import Epoch, Lane, Work


def work() -> Work:
    return Work(Epoch(1, None), Lane.NEW, Incoming("t", 0, 0, 0, None, b"", []))


@dataclass(eq=False)
class Action:
    """A member with works of these urgencies."""

    governor: Governor
    urgencies: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    admitted: int = 0
    cautious: bool = False

    def most_urgent(self) -> int | None:
        return max(self.urgencies, default=None)

    def start_next(self) -> bool:
        urgency = self.most_urgent()
        assert urgency is not None
        self.urgencies.remove(urgency)
        self.governor.isolate(self, work())
        self._start(urgency)
        return True

    def start_all(self) -> None:
        while self.urgencies:
            self._start(self.urgencies.pop())

    def be_cautious(self, *, cautious: bool) -> None:
        self.cautious = cautious

    def _start(self, urgency: int) -> None:
        self.started.append(urgency)
        self.governor.started()


def actions(governor: Governor, concurrency: int = 8) -> tuple[Action, Action]:
    pair = Action(governor), Action(governor)
    for one in pair:
        governor.join(one, concurrency)
    return pair


@pytest.mark.parametrize(
    ("concurrency", "limits"),
    [(100, [None, None, 50, 25, 12, 6, 3, 1, 1]), (8, [None, None, 4, 2, 1, 1]), (1, [None, None, 1, 1])],
)
def test_from_the_second_death_on_each_halves_what_runs_at_once(concurrency: int, limits: list[int | None]) -> None:
    governor = Governor(lambda: 0, 1_000)
    one, _ = actions(governor, concurrency)
    seen = []
    for deaths in range(len(limits)):
        governor.report(one, deaths)
        seen.append(governor.limit)
    assert seen == limits


def test_the_limit_is_that_of_the_most_deaths_over_all_actions() -> None:
    governor = Governor(lambda: 0, 1_000)
    one, other = actions(governor)
    governor.report(one, 3)
    governor.report(other, 1)
    one.urgencies, other.urgencies = [3], [0, 0]
    governor.pump()
    assert (one.started, other.started) == ([3], [0])
    governor.report(one, 0)
    assert governor.limit is None
    assert other.started == [0, 0]
    assert other.cautious
    governor.report(other, 0)
    assert not other.cautious


def test_suspects_of_the_most_deaths_go_first_whoever_has_them() -> None:
    governor = Governor(lambda: 0, 1_000)
    one, other = actions(governor)
    governor.report(one, 4)
    one.urgencies, other.urgencies = [0, 4], [3]
    for _ in range(3):
        governor.pump()
        governor.ended()
        governor.release()
    assert one.started + other.started == [4, 0, 3]
    assert one.started == [4, 0]


def test_what_is_alone_waits_for_everything_that_runs_and_keeps_all_from_starting() -> None:
    governor = Governor(lambda: 0, 1_000)
    one, other = actions(governor)
    other.urgencies = [0]
    governor.pump()
    governor.report(one, 4)
    one.urgencies = [4]
    governor.pump()
    assert one.started == [], "another action's handler still runs"
    governor.ended()
    assert one.started == [4]
    assert governor.alone_of(one) is not None
    other.urgencies = [0]
    governor.ended()
    assert other.started == [0], "its end is not committed: a map still says that it is alone"
    governor.release()
    assert other.started == [0, 0]


def test_nothing_is_alone_while_a_thread_runs_on() -> None:
    governor = Governor(lambda: 1, 1_000)
    one, _ = actions(governor)
    governor.report(one, 4)
    one.urgencies = [4]
    governor.pump()
    assert one.started == [4], "it need not wait"
    assert governor.alone_of(one) is None


@pytest.mark.parametrize("concurrency", [1, 2, 100])
def test_three_deaths_in_a_row_leave_nobody_alone(concurrency: int) -> None:
    governor = Governor(lambda: 0, 1_000)
    one, _ = actions(governor, concurrency)
    for deaths in (0, 1, 2):
        governor.report(one, deaths)
        assert not governor.isolate(one, work())


def test_works_that_wait_for_their_map_count() -> None:
    governor = Governor(lambda: 0, 1_000)
    one, other = actions(governor)
    governor.report(one, 3)
    other.admitted = 2
    one.urgencies = [3]
    governor.pump()
    assert one.started == []


def test_an_epoch_that_ends_sets_the_others_free() -> None:
    governor = Governor(lambda: 0, 1_000)
    one, other = actions(governor)
    governor.report(one, 4)
    one.urgencies = [4]
    governor.pump()
    governor.ended()
    other.urgencies = [0]
    governor.forget(other)
    assert other.started == []
    governor.forget(one)
    assert other.started == [0]
