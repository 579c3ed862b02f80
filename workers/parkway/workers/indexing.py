"""Indexing what a restore has read, while work goes on: the partition does not wait for it (DESIGN 7.2).

Reading a million parked requests takes seconds, and indexing them takes three times as long. A request is found by
its id from the start, and so is one that a response names (`parkway-parent`). What looks for one otherwise and finds
none (a cancel token) waits until everything is indexed (`Partition.behind_index`); deadlines are seen as they are
indexed. What turns out to be unreadable on the way goes to the DLQ before anything else is done for its id.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from parkway.runtime.logs import get_logger
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.entry import BrokenEntry
from parkway.workers.results import ResultBuilder
from parkway.workers.times import monotonic
from parkway.workers.work import Epoch, Result, Work

_SLICE: Final = 0.005  # seconds, between which everything else has its turn


class Indexing:
    """Of one action. `add` gives the committer a result, `go_on` gets what has waited. Used on the event loop only."""

    def __init__(
        self,
        action: str,
        builder: ResultBuilder,
        *,
        add: Callable[[Result], None],
        go_on: Callable[[Partition, Sequence[Work]], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        self._builder = builder
        self._add = add
        self._go_on = go_on
        self._crashed = crashed
        self._task: asyncio.Task[None] | None = None
        self._log = get_logger("worker").bind(action=action)

    def begin_epoch(self, assignment: Assignment, broken: Mapping[int, Sequence[BrokenEntry]]) -> None:
        """`broken`: by partition, what the restore itself could not read."""
        for number, entries in broken.items():
            self._report(assignment.epoch, number, entries)
        for partition in assignment.partitions.values():
            self._index(assignment.epoch, partition)
        if not _is_done(assignment):
            self._task = asyncio.create_task(self._index_all(assignment))

    def end_epoch(self) -> None:
        """What is not indexed stays so."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def looked(self, epoch: Epoch, partition: Partition) -> None:
        """Something was looked for by its id, and may have been found unreadable."""
        self._report(epoch, partition.number, partition.parked.take_broken())

    async def _index_all(self, assignment: Assignment) -> None:
        began = monotonic()
        try:
            for partition in assignment.partitions.values():
                while not partition.parked.is_indexed:
                    await asyncio.sleep(0)
                    self._index(assignment.epoch, partition)
        except Exception as error:
            self._crashed(error)
            return
        self._log.info("parked_indexed", parked=assignment.parked(), seconds=round(monotonic() - began, 3))

    def _index(self, epoch: Epoch, partition: Partition) -> None:
        partition.parked.index(_SLICE)
        self.looked(epoch, partition)
        if partition.parked.is_indexed:
            waiting, partition.behind_index = partition.behind_index, []
            self._go_on(partition, waiting)

    def _report(self, epoch: Epoch, partition: int, broken: Sequence[BrokenEntry]) -> None:
        for entry in broken:
            self._log.error("parked_record_unreadable", partition=partition, reason=entry.reason)
            self._add(self._builder.broken(epoch, partition, entry))


def _is_done(assignment: Assignment) -> bool:
    return all(partition.parked.is_indexed for partition in assignment.partitions.values())
