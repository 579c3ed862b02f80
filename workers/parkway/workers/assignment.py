"""The partitions of one epoch, and what is known of each. Used on the event loop only."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import TopicPartition

from parkway.schemas.topics import Topics
from parkway.workers.completion import Completion
from parkway.workers.kept import Kept
from parkway.workers.parked import ParkedIndex
from parkway.workers.poison import Standing
from parkway.workers.remembered import Remembered
from parkway.workers.restored import Restored
from parkway.workers.times import monotonic, now
from parkway.workers.work import Epoch, Lane, Result, Work

CATCH_UP_SECONDS: Final = 3.0


class Partition:
    """One partition: completed offsets of both lanes, the parked index, and works that wait for something."""

    def __init__(
        self, number: int, restored: Restored, action: str, topics: Topics, standing: Standing | None = None
    ) -> None:
        self.number = number
        self.standing = standing or Standing()
        self.parked = ParkedIndex(restored.entries)
        self.remembered = Remembered(restored.cancellations)
        self.steps = restored.steps
        self.state = restored.state
        self.behind_key: dict[bytes, deque[Work]] = {}  # a key that is busy, and the records behind it
        self.behind_commit: dict[str, list[Work]] = {}  # continuations that wait for the outcome of a result
        self.behind_index: list[Work] = []  # continuations of nobody who is known until everything is indexed
        names = {Lane.NEW: topics.action(action), Lane.RESUME: topics.resume(action)}
        self._lanes = {lane: (names[lane], completion) for lane, completion in restored.lanes.items()}
        self._committed = {lane: completion.watermark for lane, (_, completion) in self._lanes.items()}
        self._sent = dict(self._committed)  # by the newest transaction
        self._resume_end = restored.ends.get(Lane.RESUME, 0)
        self._transactions = restored.number
        self._parked_upto = restored.parked_upto
        self._state_upto = restored.state_upto
        self._was_broken = bool(restored.broken)

    def completion(self, lane: Lane) -> Completion:
        return self._lanes[lane][1]

    def places(self) -> list[tuple[str, int]]:
        """Its topics, as (topic, partition)."""
        return [(topic, self.number) for topic, _ in self._lanes.values()]

    def is_behind(self) -> bool:
        """Are there continuations from before the restore that were not taken yet?"""
        return Lane.RESUME in self._lanes and self.completion(Lane.RESUME).next < self._resume_end

    def behind(self, ends: Mapping[tuple[str, int], int]) -> int:
        """Records in hand, and those up to these ends of its topics that are not taken. From any thread."""
        return sum(
            len(completion) + max(0, ends.get((topic, self.number), 0) - completion.next)
            for topic, completion in self._lanes.values()
        )

    def oldest(self) -> int | None:
        """The timestamp (ms since 1970) of the oldest record in hand. From any thread."""
        found = [at for _, completion in self._lanes.values() if (at := completion.oldest)]
        return min(found, default=None)

    def kept(self) -> Kept | None:
        """What may be kept of the parked index after the assignment; None when it is not exact."""
        entries, cancellations = self.parked.committed_entries(), self.remembered.committed()
        # What was broken is not in the index: it is read again, unless its tombstone has taken its place.
        if entries is None or cancellations is None or self._was_broken:
            return None
        return Kept(entries, self._parked_upto, cancellations, self.steps, self.state, self._state_upto)

    def moved_without_work(self) -> bool:
        """Has the position passed control records that no transaction has committed yet?"""
        return any(
            len(completion) == 0 and completion.watermark > self._committed[lane]
            for lane, (_, completion) in self._lanes.items()
        )

    def be_cautious(self, *, cautious: bool) -> None:
        """Something in the process is suspected, or nothing any more."""
        if cautious:
            self.standing.be_cautious({lane: completion.next for lane, (_, completion) in self._lanes.items()})
        else:
            self.standing.be_free()

    def settle(self) -> bool:
        """True: the last suspect of this partition is done."""
        return self.standing.settle({lane: completion.watermark for lane, (_, completion) in self._lanes.items()})

    def suspects(self) -> int:
        """Offsets that are suspected; gaps in the log count, too."""
        return sum(
            max(0, self.standing.suspects_end(lane) - completion.watermark)
            for lane, (_, completion) in self._lanes.items()
        )

    def awaits_suspects(self) -> bool:
        """Are suspects of new work to come that are not taken yet?"""
        return self.completion(Lane.NEW).next < self.standing.suspects_end(Lane.NEW)

    def offsets(self, completed: Mapping[Lane, Iterable[int]], stamp: str) -> list[TopicPartition]:
        """What a transaction commits for this partition: both lanes, even when nothing advanced.

        Without it the transaction would not be fenced. The number grows with every transaction.
        """
        self._transactions += 1
        marks = self.standing.sending()
        commits = []
        for lane, (topic, completion) in self._lanes.items():
            offset, metadata = completion.snapshot(set(completed.get(lane, ())), stamp, self._transactions, marks[lane])
            self._sent[lane] = offset
            commits.append(TopicPartition(topic, self.number, offset, metadata))
        return commits

    def committed(
        self,
        completed: Mapping[Lane, Iterable[int]],
        parked_offset: int | None = None,
        state_offset: int | None = None,
    ) -> None:
        """The newest transaction has committed; it completed these, and wrote up to these offsets of the topics."""
        if parked_offset is not None:
            self._parked_upto = max(self._parked_upto, parked_offset + 1)
        if state_offset is not None:
            self._state_upto = max(self._state_upto, state_offset + 1)
        self.steps.forget(completed.get(Lane.NEW, ()))
        self._committed = dict(self._sent)
        self.standing.committed()
        for lane, (_, completion) in self._lanes.items():
            completion.complete(set(completed.get(lane, ())))


class Assignment:
    """One epoch's partitions, restored and started."""

    def __init__(self, epoch: Epoch, partitions: Mapping[int, Partition]) -> None:
        self.epoch = epoch
        self.partitions = dict(partitions)
        self._began = monotonic()
        self._caught_up = False

    def caught_up(self) -> bool:
        """May new work start? What was cancelled before this owner came must not begin, if it can be helped.

        Not for long: the open transaction of a router that died may hold back the end of `resume`.
        """
        if not self._caught_up:
            late = monotonic() - self._began >= CATCH_UP_SECONDS
            self._caught_up = late or not any(one.is_behind() for one in self.partitions.values())
        return self._caught_up

    def parked(self) -> int:
        """Requests that wait for a continuation."""
        return sum(len(partition.parked) for partition in self.partitions.values())

    def open_requests(self) -> int:
        """Requests that are parked and wait for no person, or whose first call runs or is not committed yet."""
        return sum(partition.parked.open_requests for partition in self.partitions.values())

    def awaiting_person(self) -> int:
        """Requests that stand still until a person has decided. From any thread."""
        return sum(partition.parked.awaiting_person for partition in self.partitions.values())

    def parked_bytes(self) -> int:
        """What those requests take, in memory or on disk. From any thread."""
        return sum(partition.parked.bytes() for partition in self.partitions.values())

    def state_keys(self) -> int:
        """Record keys that something is remembered of. From any thread."""
        return sum(len(partition.state) for partition in self.partitions.values())

    def state_bytes(self) -> int:
        """What that takes in memory. From any thread."""
        return sum(partition.state.value_bytes for partition in self.partitions.values())

    def oldest_age(self) -> float:
        """Seconds since the oldest record in hand was written; 0 when there is none. From any thread."""
        oldest = min((at for one in self.partitions.values() if (at := one.oldest())), default=None)
        return max(0.0, now() - oldest / 1000) if oldest is not None else 0.0

    def deaths(self) -> int:
        """The most deaths in a row that a record of these is suspected of."""
        return max((partition.standing.deaths for partition in self.partitions.values()), default=0)

    def awaits_suspects(self) -> bool:
        return any(partition.awaits_suspects() for partition in self.partitions.values())

    def behind_commit(self) -> int:
        """Continuations that wait for the outcome of a transaction, or for the index after a restore."""
        partitions = self.partitions.values()
        waiting = sum(len(works) for partition in partitions for works in partition.behind_commit.values())
        return waiting + sum(len(partition.behind_index) for partition in partitions)


def completed_offsets(results: Iterable[Result]) -> dict[int, dict[Lane, set[int]]]:
    """Per touched partition and lane: the offsets that these results complete."""
    completed: dict[int, dict[Lane, set[int]]] = {}
    for result in results:
        lanes = completed.setdefault(result.partition, {})
        for work in (result.work, result.cancels):
            if work is not None:
                lanes.setdefault(work.lane, set()).add(work.record.offset)
    return completed
