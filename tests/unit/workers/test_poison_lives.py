"""Lives and deaths of a process with two actions: the real decisions, without Kafka and without handlers.

A commit is one step, as it is for a broker; what a death leaves is what was committed.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from parkway.runtime.records import Incoming
from parkway.schemas.topics import Topics
from parkway.workers.admission import Admission
from parkway.workers.assignment import Assignment, Partition, completed_offsets
from parkway.workers.backlog import Backlog, Start
from parkway.workers.completion import Completion, decode
from parkway.workers.governor import Governor
from parkway.workers.held import Lines
from parkway.workers.held_up import HeldUp
from parkway.workers.marks import Marks
from parkway.workers.poison import Standing
from parkway.workers.queues import Queues
from parkway.workers.restored import Restored
from parkway.workers.slots import Slots
from parkway.workers.work import Epoch, Lane, Result, Work

PARTITIONS = 2
RECORDS = 30
Place = tuple[str, int, int]  # action, partition, offset


@dataclass
class World:
    """What outlives a process: the logs, what is committed, and how each record has ended."""

    keys: dict[Place, bytes]
    committed: dict[tuple[str, int], tuple[int, str]] = field(default_factory=dict)
    done: list[Place] = field(default_factory=list)
    convicted: list[Place] = field(default_factory=list)

    def is_over(self) -> bool:
        return len(self.done) + len(self.convicted) == len(self.keys)


class Action:
    """One action of one process, from its assignment to its death."""

    def __init__(self, name: str, world: World, process: "Process", *, by_key: bool) -> None:
        self.name = name
        self.world = world
        self.process = process
        self.running: list[Work] = []
        self.convicted: list[Place] = []
        self.results: list[Result] = []
        held_up = HeldUp(10**9)
        self.queues = Queues(held_up, by_key=by_key)
        self.epoch = Epoch(1, None)
        self.positions = dict.fromkeys(range(PARTITIONS), 0)
        never_asked: Any = None
        backlog = Backlog(
            never_asked, self.queues, Lines(lambda: None), held_up, concurrency=process.concurrency, max_open=10**6
        )
        self.admission = Admission(
            name,
            process.governor,
            backlog,
            process.slots,
            may_start=lambda: len(self.running) + self.admission.admitted < process.concurrency,
            start=self._start,
            add=self.results.append,
            changed=lambda: None,
        )
        process.governor.join(self.admission, process.concurrency)
        self.assignment: Assignment | None = None

    def assign(self) -> None:
        partitions = {number: self._restore(number) for number in range(PARTITIONS)}
        self.assignment = Assignment(self.epoch, partitions)
        self.admission.begin_epoch(self.assignment)
        self.results += [Result(self.epoch, number, None) for number in partitions]

    def _restore(self, number: int) -> Partition:
        offset, metadata = self.world.committed.get((self.name, number), (0, ""))
        completion, found, ignored = Completion.restore("topic", offset, metadata)
        assert ignored is None
        marks: dict[Lane, Marks] = {Lane.NEW: found.marks} if found is not None else {}
        self.positions[number] = completion.next
        standing = Standing.restored(marks, {Lane.NEW: completion.next}, {Lane.NEW: RECORDS}, own=False)
        return Partition(number, Restored({Lane.NEW: completion}, {}, 0), self.name, Topics("sim"), standing)

    def take(self, number: int, count: int) -> None:
        if self.assignment is None:
            return
        partition = self.assignment.partitions[number]
        for _ in range(count):
            offset = self.positions[number]
            if offset < RECORDS:
                self.positions[number] += 1
                record = Incoming("t", number, offset, 0, self.world.keys[self.name, number, offset], b"", [])
                if partition.completion(Lane.NEW).take(offset):
                    self.admission.take(partition, Work(self.epoch, Lane.NEW, record))
        self.admission.pump()

    def _start(self, partition: Partition, work: Work | Start) -> None:
        assert isinstance(work, Work)
        place = self.place(work)
        metadata = decode(self.world.committed[self.name, work.partition][1])
        assert metadata.marks.allows(work.record.offset), "nothing starts that its committed map does not show"
        if partition.standing.conviction(Lane.NEW, work.record.offset) is not None:
            self.convicted.append(place)
            self._end(work)
            return
        self.running.append(work)
        self.process.governor.started()
        self.process.starts(self, work)

    def finish(self, work: Work) -> None:
        self.running.remove(work)
        self._end(work)
        self.process.governor.ended()
        self.admission.pump()

    def _end(self, work: Work) -> None:
        assert self.assignment is not None
        self.results.append(Result(self.epoch, work.partition, work))
        self.admission.ended(work)
        self.queues.release_key(self.assignment.partitions[work.partition], work)

    def commit(self) -> None:
        if self.assignment is None or not self.results:
            return
        batch, self.results[:] = list(self.results), []
        completed = completed_offsets(batch)
        partitions = self.assignment.partitions
        for number, lanes in completed.items():
            (commit,) = partitions[number].offsets(lanes, self.epoch.stamp)
            self.world.committed[self.name, number] = (commit.offset, commit.metadata)
        for number, lanes in completed.items():
            partitions[number].committed(lanes, None)
        for result in batch:
            if result.work is not None:
                place = self.place(result.work)
                (self.world.convicted if place in self.convicted else self.world.done).append(place)
        self.admission.committed(batch)
        self.admission.pump()

    def place(self, work: Work) -> Place:
        return (self.name, work.partition, work.record.offset)


class DiedError(Exception):
    """The process, by its poison or by somebody's hand."""


class Process:
    def __init__(self, world: World, poison: set[Place], concurrency: int, random: Random) -> None:
        self.poison = poison
        self.concurrency = concurrency
        self.random = random
        self.governor = Governor(lambda: 0, 1_000)
        self.slots = Slots(1_000)
        self.actions = [Action("one", world, self, by_key=False), Action("two", world, self, by_key=True)]
        self.fatal: list[Place] = []

    def starts(self, action: Action, work: Work) -> None:
        if action.place(work) in self.poison:
            self.fatal.append(action.place(work))

    def running(self) -> list[Place]:
        return [action.place(work) for action in self.actions for work in action.running]

    def perhaps_alone(self) -> list[Place]:
        """The only one that runs; when none does, those that have run and are not committed."""
        running = self.running()
        if running:
            return running if len(running) == 1 else []
        results = [(action, result) for action in self.actions for result in action.results]
        return [action.place(result.work) for action, result in results if result.work is not None]

    def step(self) -> None:
        """Something happens. Raises DiedError when a poison record has come to its deadly line."""
        action = self.random.choice(self.actions)
        what = self.random.randrange(5)
        if what == 0 and action.assignment is None:
            action.assign()
        elif what == 1:
            action.take(self.random.randrange(PARTITIONS), self.random.randint(1, 12))
        elif what == 2:
            action.commit()
        elif what == 3 and self.fatal:
            raise DiedError
        elif action.running:
            work = self.random.choice(action.running)
            if action.place(work) not in self.poison:
                action.finish(work)


def live(world: World, poison: set[Place], concurrency: int, random: Random, kill_after: int | None) -> list[Place]:
    """One life; gives what may have been alone when it ended. It ends when all is done, too, or after `kill_after` steps."""
    process = Process(world, poison, concurrency, random)
    steps = 0
    while not world.is_over():
        steps += 1
        assert steps < 50_000, f"it stands still: {process.running()}"
        if kill_after is not None and steps > kill_after:
            break
        try:
            process.step()
        except DiedError:
            break
    return process.perhaps_alone()


def a_world(random: Random) -> World:
    keys = {
        (action, partition, offset): f"k{random.randrange(6)}".encode()
        for action in ("one", "two")
        for partition in range(PARTITIONS)
        for offset in range(RECORDS)
    }
    return World(keys)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 9),
    st.sets(
        st.tuples(st.sampled_from(["one", "two"]), st.integers(0, PARTITIONS - 1), st.integers(0, RECORDS - 1)),
        max_size=3,
    ),
)
def test_the_guilty_are_convicted_and_nobody_else(seed: int, concurrency: int, poison: set[Place]) -> None:
    random = Random(seed)
    world = a_world(random)
    lives = 0
    while not world.is_over():
        lives += 1
        live(world, poison, concurrency, random, None)
        assert lives <= 1 + len(poison) * (3 + concurrency.bit_length()), "too many deaths"
    assert sorted(world.convicted) == sorted(poison)
    assert sorted(world.done) == sorted(set(world.keys) - poison)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 9),
    st.sets(
        st.tuples(st.sampled_from(["one", "two"]), st.integers(0, PARTITIONS - 1), st.integers(0, RECORDS - 1)),
        max_size=2,
    ),
    st.lists(st.integers(0, 120), max_size=12),
)
def test_who_dies_by_another_hand_is_convicted_only_when_it_was_alone(
    seed: int, concurrency: int, poison: set[Place], kills: list[int]
) -> None:
    random = Random(seed)
    world = a_world(random)
    died_alone: set[Place] = set()
    for kill_after in [*kills, *[None] * 60]:
        if world.is_over():
            break
        died_alone.update(live(world, poison, concurrency, random, kill_after))
    assert world.is_over()
    assert poison <= set(world.convicted) <= died_alone
    assert len(world.convicted) == len(set(world.convicted))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9), st.lists(st.integers(0, 150), min_size=3, max_size=3))
def test_three_kills_in_a_row_convict_nobody(seed: int, concurrency: int, kills: list[int]) -> None:
    random = Random(seed)
    world = a_world(random)
    for kill_after in [*kills, None]:
        live(world, set(), concurrency, random, kill_after)
    assert world.convicted == []
    assert sorted(world.done) == sorted(world.keys)
