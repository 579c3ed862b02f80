"""What a worker does by the clock: end requests whose time is over, and keep its offsets from being forgotten.

Runs on the event loop.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from parkway.runtime.logs import get_logger
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.committer import Committer
from parkway.workers.effects import Task
from parkway.workers.results import ResultBuilder
from parkway.workers.times import now_ms
from parkway.workers.work import Epoch, Result

_SWEEP_SECONDS: Final = 1.0
_AT_ONCE: Final = 500  # ends of a partition that are written before the event loop does something else
_REFRESH_SECONDS: Final = 6 * 3600.0  # well inside a broker's shortest sensible offsets.retention.minutes, a day


class Upkeep:
    """`current` gives the assignment in force, or None."""

    def __init__(
        self, action: str, builder: ResultBuilder, committer: Committer, current: Callable[[], Assignment | None]
    ) -> None:
        self._builder = builder
        self._committer = committer
        self._current = current
        self._log = get_logger("worker").bind(action=action)

    async def sweep_for_ever(self) -> None:
        """Turn overdue parked requests into failed responses, about a second late unless there are very many."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            while await self._sweep():
                pass

    async def _sweep(self) -> bool:
        """Some of what is overdue; is there more?"""
        assignment, more = self._current(), False
        for partition in assignment.partitions.values() if assignment is not None else ():
            if assignment is not self._current() or self._committer.full:
                return False
            assert assignment is not None
            overdue = partition.parked.overdue(now_ms(), _AT_ONCE)
            for request_id in overdue:
                self._end(assignment.epoch, partition, request_id)
            more |= len(overdue) == _AT_ONCE
            for key in list(partition.remembered.overdue(now_ms())):
                partition.remembered.forget(key)
                self._committer.add(self._builder.forgotten(assignment.epoch, partition.number, key))
            await asyncio.sleep(0)
        return more

    async def refresh_for_ever(self) -> None:
        """Commit the offsets again: `resume` is not in the group's subscription, so the broker forgets them."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            assignment = self._current()
            if assignment is not None:
                for number in assignment.partitions:
                    self._committer.add(Result(assignment.epoch, number, None))

    def _end(self, epoch: Epoch, partition: Partition, request_id: str) -> None:
        entry = partition.parked.claim(request_id)
        if entry is None:
            return
        try:
            parked = entry.record()
            task = Task(parked.request, parked.deadline, parked)
            result = self._builder.swept(epoch, partition.number, request_id, task)
        except Exception as error:
            self._log.exception("parked_record_not_usable", request_id=request_id)
            result = self._builder.unusable(epoch, partition.number, request_id, entry.value, type(error).__name__)
        self._committer.add(result)
