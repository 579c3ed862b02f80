"""Handlers that run on over a rebalance, and what becomes of them at the next assignment (DESIGN 7.1).

`range` revokes everything for a moment, so a revoke cancels nothing. After the restore a running handler, or a
finished result that is not committed, is adopted into the new epoch if

- its partition came back,
- the committed map still carries a stamp of this process: nobody owned the partition in between,
- the map shows the record unfinished, and
- its parked entry is the version that it started from (none, for a new request), and so are the state of its key and
  its steps;

else it is cancelled and forgotten. The stamp and the version guard each other when an assignment is missed; each alone
would do elsewhere. Used on the event loop only.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from parkway.workers.assignment import Assignment, Partition
from parkway.workers.origins import origin_of
from parkway.workers.parked import Verdict
from parkway.workers.restored import Restored
from parkway.workers.work import Epoch, Result, Work


@dataclass(frozen=True, slots=True)
class Adopted:
    """A work of the new epoch: still running (`task`), or finished (`result`)."""

    work: Work
    task: asyncio.Task[None] | None
    result: Result | None


class Carried:
    """Works of ended epochs whose handlers run on, or whose results are not committed."""

    def __init__(self) -> None:
        self._running: dict[Work, asyncio.Task[None]] = {}
        self._finished: dict[Work, Result] = {}
        self._stamps: set[str] = set()  # of every assignment of this process

    def __len__(self) -> int:
        return len(self._running) + len(self._finished)

    def own(self, epoch: Epoch) -> None:
        self._stamps.add(epoch.stamp)

    def owns(self, stamp: str | None) -> bool:
        """Is this the stamp of an assignment of this process?"""
        return stamp in self._stamps

    def carry(self, running: dict[Work, asyncio.Task[None]]) -> None:
        self._running.update(running)

    def finished(self, work: Work, result: Result) -> bool:
        """A handler has returned: True when it is one of these, and its result waits for the next assignment."""
        if self._running.pop(work, None) is None:
            return False
        self._finished[work] = result
        return True

    def carry_results(self, results: Iterable[Result]) -> None:
        """Finished and not committed. What no handler was asked for is decided again instead: it costs nothing.

        So are cancellations: the record whose handler one has stopped ends with it, or runs again with it.
        """
        for result in results:
            cancellation = result.cancels is not None or result.forgets
            if result.work is not None and result.task is not None and not cancellation:
                self._finished[result.work] = result

    def drop(self, partitions: set[int] | None = None) -> int:
        """Cancel and forget what is not of these partitions (None: everything)."""
        gone = [
            work for work in [*self._running, *self._finished] if partitions is None or work.partition not in partitions
        ]
        for work in gone:
            task = self._running.pop(work, None)
            if task is not None:
                task.cancel()
            self._finished.pop(work, None)
        return len(gone)

    def adopt(self, assignment: Assignment, restored: dict[int, Restored]) -> Iterator[Adopted]:
        """Move what may go on into the new epoch; cancel and forget the rest."""
        for work in sorted([*self._running, *self._finished], key=lambda work: work.record.offset):
            partition = assignment.partitions.get(work.partition)
            if partition is None or not self._may_go_on(work, partition, restored[work.partition]):
                continue
            work.epoch = assignment.epoch
            partition.completion(work.lane).adopt(work.record.offset)
            result = self._finished.pop(work, None)
            if result is not None:
                result.epoch = assignment.epoch
            yield Adopted(work, self._running.pop(work, None), result)
        self.drop()

    def _may_go_on(self, work: Work, partition: Partition, restored: Restored) -> bool:
        if not self.owns(restored.stamps.get(work.lane)) or not partition.completion(work.lane).is_unfinished(
            work.record.offset
        ):
            return False
        if partition.state.get(work.record.key) != work.state_from or not _knows_its_steps(work, partition):
            return False
        if work.request_id is None:
            return True
        entry = partition.parked.entry(work.request_id)
        if (entry.value if entry is not None else None) != work.started_from:
            return False
        return _claim_again(work, partition)


def _claim_again(work: Work, partition: Partition) -> bool:
    assert work.request_id is not None
    if work.started_from is not None:
        return partition.parked.claim(work.request_id) is not None
    return partition.parked.start(work.request_id, origin_of(work.record)) is Verdict.NEW


def _knows_its_steps(work: Work, partition: Partition) -> bool:
    if work.recordings is None:
        return True
    committed = {name for name, recording in work.recordings.items() if recording.committed}
    return partition.steps.of(work.record.offset).keys() == committed
