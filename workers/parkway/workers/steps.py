"""Steps of handlers that run: each result is committed before the handler goes on (DESIGN 7.2, `ctx.step`).

A result is a record in `<ns>.parked`, written in a transaction of the committer, which is fenced like every other, with
the record's own offset unfinished. A handler that runs on over a rebalance writes again, in the epoch that adopts it,
what was not committed in the one before. The transaction in which the record ends writes the tombstones, whatever the
end is.

Used on the event loop only; handlers in threads come by way of it.
"""

import asyncio
from collections.abc import Callable

from parkway.agents.errors import ContextError
from parkway.agents.step import StepError
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Record
from parkway.schemas.parked import ParkedStep, step_key
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.results import ResultBuilder
from parkway.workers.work import Lane, Recording, Result, Work


class Steps:
    """Of one action, over all epochs. `current` gives the assignment in force, `add` gives the committer a result."""

    def __init__(
        self,
        action: str,
        builder: ResultBuilder,
        largest: int,
        current: Callable[[], Assignment | None],
        add: Callable[[Result], None],
    ) -> None:
        self._action = action
        self._builder = builder
        self._largest = largest
        self._current = current
        self._add = add
        self._log = get_logger("worker").bind(action=action)

    def log(self, partition: Partition, work: Work) -> "AttemptLog":
        """What an attempt at this record that starts now finds, and writes to."""
        if work.recordings is None:
            work.recordings = {}
            for name, step in partition.steps.of(work.record.offset).items():
                if step.event_id == work.event.get("id"):
                    work.recordings[name] = Recording(work, name, step, committed=True)
        return AttemptLog(self, work, work.recordings, self._largest)

    def write(self, work: Work, name: str, result: bytes) -> Recording:
        step = ParkedStep(
            build=self._builder.build, action=self._action, event_id=str(work.event["id"]), result=result.decode()
        )
        recording = Recording(work, name, step)
        assert work.recordings is not None
        work.recordings[name] = recording
        self._submit(recording)
        return recording

    def adopted(self, work: Work) -> None:
        """Its handler goes on in the assignment in force."""
        for recording in (work.recordings or {}).values():
            if not recording.committed:
                self._submit(recording)

    def tombstones(self, partition: Partition, work: Work) -> list[Record]:
        """What takes the steps of a record that ends out of `<ns>.parked`."""
        if work.lane is not Lane.NEW:
            return []
        names = partition.steps.of(work.record.offset).keys() | (work.recordings or {}).keys()
        return [self._tombstone(partition, work.record.offset, name) for name in sorted(names)]

    def remove_orphans(self, assignment: Assignment) -> None:
        """Steps whose record has ended, or is gone: another owner's offsets were set back, a topic made anew."""
        for partition in assignment.partitions.values():
            completion = partition.completion(Lane.NEW)
            for offset in [one for one in partition.steps.offsets() if not completion.is_unfinished(one)]:
                names = list(partition.steps.of(offset))
                self._log.warning("steps_without_record", partition=partition.number, offset=offset, steps=len(names))
                drops = [self._tombstone(partition, offset, name) for name in names]
                self._add(Result(assignment.epoch, partition.number, None, drops=drops))
                partition.steps.forget([offset])

    def _submit(self, recording: Recording) -> None:
        """Between epochs nothing is written: the work waits for its adoption, or is cancelled."""
        assignment, work = self._current(), recording.work
        if assignment is not None and assignment.epoch is work.epoch:
            key = step_key(work.partition, work.record.offset, recording.name, self._action)
            record = self._builder.parked(work.partition, key, recording.step.to_json())
            self._add(Result(work.epoch, work.partition, None, records=[record], recording=recording))

    def _tombstone(self, partition: Partition, offset: int, name: str) -> Record:
        return self._builder.parked(partition.number, step_key(partition.number, offset, name, self._action), None)


class AttemptLog:
    """A `StepLog`: of one attempt at one record."""

    def __init__(self, steps: Steps, work: Work, recordings: dict[str, Recording], largest: int) -> None:
        self.largest = largest
        self._steps = steps
        self._work = work
        self._recordings = recordings
        self._waiting: set[asyncio.Future[None]] = set()
        self._closed = False

    async def find(self, name: str) -> bytes | None:
        """A step of an attempt before this one may still be on its way."""
        self._check_open()
        recording = self._recordings.get(name)
        if recording is None or recording.refusal is not None:
            return None
        await self._wait(recording)
        return recording.step.result.encode()

    async def record(self, name: str, result: bytes) -> None:
        self._check_open()
        await self._wait(self._steps.write(self._work, name, result))

    def close(self) -> None:
        """A handler in a thread, which nobody can stop, must not wait for ever."""
        self._closed = True
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(_over())

    async def _wait(self, recording: Recording) -> None:
        if not recording.committed:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(waiting)
            recording.waiting.append(waiting)
            try:
                await waiting
            finally:
                self._waiting.discard(waiting)
        if recording.refusal is not None:
            raise StepError(f"step {recording.name!r}: Kafka refused its result: {recording.refusal}")

    def _check_open(self) -> None:
        if self._closed:
            raise _over()


def _over() -> ContextError:
    return ContextError("the attempt that this step belongs to is over")
