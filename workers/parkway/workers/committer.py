"""The committer: everything that completed since the last transaction goes into the next one (DESIGN 6.1, 7.1).

The commit itself is the batching: while it runs, the next results gather. One transaction at a time, on a
thread of its own; everything else here runs on the event loop. A result that is finished is never computed
again while the assignment is kept: an abort puts it back to be produced again. So does the death of the producer,
which is made anew in the process; its `commit` returns when the outcome is known, and not before (recovery.py).
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Final

from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.runtime.recovery import Commits
from parkway.runtime.transaction_errors import AbortedError, FatalTransactionError, GroupFencedError, RecordRefusedError
from parkway.runtime.transactions import LARGEST_TRANSACTION
from parkway.workers.assignment import Assignment, completed_offsets
from parkway.workers.results import ResultBuilder
from parkway.workers.work import Lane, Result

_LARGEST: Final = 1_000
_LONGEST_WAIT: Final = 1.0


class Committer:
    """Commits results under the assignment that `begin_epoch` set, until `end_epoch`.

    `on_committed` gets each committed result; `on_fenced` runs when the group has moved on.
    """

    def __init__(
        self,
        action: str,
        producer: Commits,
        parked_topic: str,
        state_topic: str,
        builder: ResultBuilder,
        on_committed: Callable[[Sequence[Result]], None],
        on_fenced: Callable[[], None],
        *,
        largest_bytes: int,
        thread: Executor | None = None,
    ) -> None:
        """`thread` is a single one, the producer's; None: one of its own."""
        self._producer = producer
        self._parked_topic = parked_topic
        self._state_topic = state_topic
        self._builder = builder
        self._on_committed = on_committed
        self._on_fenced = on_fenced
        self._log = get_logger("committer").bind(action=action)
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix=f"producer-{action}")
        self._assignment: Assignment | None = None
        self._results: deque[Result] = deque()
        self._bytes = 0  # of their records
        self._largest_bytes = largest_bytes
        self._largest = _LARGEST
        self._wake = asyncio.Event()
        self._quiet = asyncio.Event()  # nothing is in a transaction and nothing waits for one
        self._quiet.set()
        self._outside = asyncio.Event()  # nothing is in a transaction
        self._outside.set()

    @property
    def full(self) -> bool:
        """Do so many bytes wait for their transaction that no handler should be started?"""
        return self._bytes >= self._largest_bytes

    @property
    def is_quiet(self) -> bool:
        """Is nothing in a transaction, and does nothing wait for one?"""
        return self._quiet.is_set()

    async def open(self) -> None:
        """Open the producer; ends what a predecessor left open. Raises FatalTransactionError."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._producer.open)

    def begin_epoch(self, assignment: Assignment) -> None:
        assert not self._results
        self._assignment = assignment
        self._largest = _LARGEST

    def add(self, result: Result) -> None:
        """A result waits for its transaction; one of another epoch is dropped."""
        if self._assignment is None or result.epoch is not self._assignment.epoch:
            return
        result.size = _size(result)
        self._results.append(result)
        self._bytes += result.size
        self._quiet.clear()
        self._wake.set()

    async def flush(self, seconds: float) -> None:
        """Return when everything added so far is committed, or after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._quiet.wait()
        except TimeoutError:
            self._log.warning("results_not_committed_in_time", results=len(self._results), seconds=seconds)

    async def end_epoch(self) -> list[Result]:
        """Return when the transaction in flight, if any, has an outcome: with the results that are not committed."""
        self._assignment = None
        await self._outside.wait()
        left = list(self._results)
        self._drop()
        return left

    async def run(self) -> None:
        """Commit for ever. Raises FatalTransactionError, InstanceError, KafkaException for missing rights."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            aborts = 0
            while self._results and self._assignment is not None:
                aborts = 0 if await self._commit_some() else aborts + 1
                if aborts and self._results:
                    await asyncio.sleep(min(_LONGEST_WAIT, 0.01 * 2**aborts))
            self._quiet.set()

    async def _commit_some(self) -> bool:
        """One transaction; False when it aborted."""
        assignment = self._assignment
        assert assignment is not None
        batch = self._take_batch()
        completed = completed_offsets(batch)
        offsets = [
            commit
            for partition, lanes in completed.items()
            for commit in assignment.partitions[partition].offsets(lanes, assignment.epoch.stamp)
        ]
        _enter_index(assignment, batch)
        records = [record for result in batch for record in result.produced()]
        started = time.perf_counter()
        self._outside.clear()
        try:
            await asyncio.get_running_loop().run_in_executor(
                self._thread, self._producer.commit, records, offsets, assignment.epoch.metadata
            )
        except AbortedError as aborted:
            metrics.ABORTED.labels("worker").inc()
            _withdraw(assignment, batch)
            self._aborted(batch, aborted)
            return False
        finally:
            self._outside.set()
        metrics.TRANSACTION_SECONDS.labels("worker").observe(time.perf_counter() - started)
        metrics.TRANSACTION_RECORDS.labels("worker").observe(len(batch))
        self._largest = min(_LARGEST, self._largest * 2)
        self._committed(assignment, batch, completed)
        self._on_committed(batch)
        return True

    def _committed(
        self, assignment: Assignment, batch: Sequence[Result], completed: Mapping[int, Mapping[Lane, set[int]]]
    ) -> None:
        for result in batch:
            partition = assignment.partitions[result.partition]
            for request_id in _changed(result):
                partition.parked.committed(request_id)
            if result.state is not None:
                partition.state.change(*result.state)
            if result.recording is not None:
                recording = result.recording
                partition.steps.put(recording.work.record.offset, recording.name, recording.step)
                recording.commit()
        delivered = self._producer.delivered
        for number, lanes in completed.items():
            assignment.partitions[number].committed(
                lanes, delivered.get((self._parked_topic, number)), delivered.get((self._state_topic, number))
            )

    def _take_batch(self) -> list[Result]:
        """As many results as one transaction can carry within its time; at least one."""
        batch: list[Result] = []
        size = 0
        while self._results and len(batch) < self._largest:
            found = self._results[0].size
            if batch and size + found > LARGEST_TRANSACTION:
                break
            size += found
            batch.append(self._results.popleft())
        self._bytes -= size
        return batch

    def _aborted(self, batch: list[Result], aborted: AbortedError) -> None:
        if isinstance(aborted, GroupFencedError):
            self._log.warning("fenced_by_group", detail=str(aborted), dropped=len(batch) + len(self._results))
            self._assignment = None
            self._drop()
            self._on_fenced()
            return
        self._log.warning("transaction_aborted", detail=str(aborted), results=len(batch))
        if isinstance(aborted, RecordRefusedError):
            self._isolate(batch, aborted)
        else:
            self._largest = max(1, len(batch) // 2)  # it may have been too much for its time
        self._results.extendleft(reversed(batch))
        self._bytes += sum(result.size for result in batch)

    def _isolate(self, batch: list[Result], refused: RecordRefusedError) -> None:
        """Find the result that Kafka refuses by halving, and replace it; the others are not affected."""
        owners = [result for result in batch for _ in result.produced()]
        guilty = list(dict.fromkeys(owners[position] for position in refused.guilty))
        if not guilty and len(batch) == 1:
            guilty = batch
        if not guilty:
            self._largest = max(1, len(batch) // 2)
        for result in guilty:
            if not self._builder.undeliverable(result, str(refused)):
                raise FatalTransactionError(f"Kafka refuses every form of a result: {refused}") from refused
            result.size = _size(result)

    def _drop(self) -> None:
        self._results.clear()
        self._bytes = 0
        self._wake.set()  # `run` finds nothing and says so


def _size(result: Result) -> int:
    size = 0
    for record in result.records:
        if record.value is not None:
            size += len(record.value)
    return size


def _changed(result: Result) -> list[str]:
    """The request ids whose parked entry, or running claim, this result changes."""
    if result.upsert is not None:
        return [result.upsert[0]]
    return [result.ends] if result.ends is not None else []


def _enter_index(assignment: Assignment, batch: Sequence[Result]) -> None:
    for result in batch:
        for request_id in _changed(result):
            entry = result.upsert[1] if result.upsert is not None else None
            assignment.partitions[result.partition].parked.begin(request_id, entry)


def _withdraw(assignment: Assignment, batch: Sequence[Result]) -> None:
    for result in batch:
        for request_id in _changed(result):
            assignment.partitions[result.partition].parked.aborted(request_id)
