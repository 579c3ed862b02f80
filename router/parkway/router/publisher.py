"""The router's transactions: one batch at a time, on a thread of its own.

A batch is committed whole, in parts when it is too large for
the time of one transaction; a record that Kafka refuses is found by halving and goes to the DLQ.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Final

from parkway.router.progress import Epoch, Place
from parkway.router.routing import Routing
from parkway.router.spans import BatchTrace, committing
from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming, Record
from parkway.runtime.recovery import Commits
from parkway.runtime.transaction_errors import AbortedError, FatalTransactionError, GroupFencedError, RecordRefusedError
from parkway.runtime.transactions import LARGEST_TRANSACTION
from parkway.schemas.errors import DlqReason

_BEAT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Batch:
    """Source records with what `routing` made of each, and the offsets that are committed with them.

    The consumer's thread adds to it until it is submitted; from then on it is the publisher's.
    """

    epoch: Epoch
    routing: Routing
    sources: list[Incoming]
    caused: list[list[Record]]
    nexts: dict[Place, int]
    trace: BatchTrace | None = None

    def add(self, sources: Sequence[Incoming], caused: Sequence[list[Record]], nexts: Mapping[Place, int]) -> None:
        self.sources.extend(sources)
        self.caused.extend(caused)
        self.nexts.update(nexts)


class Publisher:
    """Commits batches. Its methods run on the consumer's thread; the transactions on the publisher's own."""

    def __init__(self, producer: Commits, beat: Callable[[], None], thread: Executor | None = None) -> None:
        """`thread` is a single one, for the producer; None: one of its own."""
        self._producer = producer
        self._beat = beat
        self._log = get_logger("router")
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="router-producer")
        self._in_flight: Future[None] | None = None

    def open(self) -> None:
        """Open the producer. Raises FatalTransactionError."""
        self._in_flight = self._thread.submit(self._producer.open)
        self.settle()

    def close(self) -> None:
        self._thread.shutdown()

    def submit(self, batch: Batch) -> None:
        """Begin the transaction of `batch`; the one before must be settled."""
        assert self._in_flight is None
        self._in_flight = self._thread.submit(self._commit, batch)

    def busy(self, seconds: float = 0.0) -> bool:
        """Is a transaction still in flight, after waiting for it `seconds` at most?"""
        return self._in_flight is not None and not wait((self._in_flight,), seconds).done

    def settle(self) -> None:
        """Wait for the outcome of the transaction in flight, however long a broker is away.

        Raises GroupFencedError when the batch was dropped because the group has moved on, and what is fatal.
        """
        while self.busy(_BEAT):
            self._beat()
        future, self._in_flight = self._in_flight, None
        if future is not None:
            future.result()

    # -- on the publisher's thread

    def _commit(self, batch: Batch) -> None:
        started = time.perf_counter()
        with committing(batch.trace, len(batch.sources)):
            for part in _parts(batch):
                self._publish(batch, part)
        metrics.TRANSACTION_SECONDS.labels("router").observe(time.perf_counter() - started)
        _count(batch)

    def _publish(self, batch: Batch, part: range) -> None:
        """Publish the sources in `part`, in order; a record that Kafka refuses is found by halving."""
        caused = {index: batch.caused[index] for index in part}
        nexts = _nexts_of(batch, part)
        refusals: Counter[int] = Counter()
        aborts = 0
        while True:
            records = [record for index in part for record in caused[index]]
            offsets = batch.epoch.offsets(nexts, batch.routing.plan.build)
            try:
                self._producer.commit(records, offsets, batch.epoch.metadata)
            except RecordRefusedError as refused:
                metrics.ABORTED.labels("router").inc()
                owners = [index for index in part for _ in caused[index]]
                guilty = {owners[position] for position in refused.guilty}
                if not guilty and len(part) > 1:
                    half = len(part) // 2
                    self._publish(batch, part[:half])
                    self._publish(batch, part[half:])
                    return
                for index in guilty or set(part):
                    refusals[index] += 1
                    caused[index] = [_undeliverable(batch, index, str(refused), refusals[index])]
            except GroupFencedError:
                raise
            except AbortedError as aborted:
                aborts += 1
                metrics.ABORTED.labels("router").inc()
                self._log.warning("transaction_aborted", detail=str(aborted))
                time.sleep(min(1.0, 0.02 * 2**aborts))
            else:
                return


def _count(batch: Batch) -> None:
    if batch.sources:
        metrics.TRANSACTION_RECORDS.labels("router").observe(len(batch.sources))
    for topic, number in Counter(record.topic for caused in batch.caused for record in caused).items():
        metrics.PUBLISHED.labels(topic.removeprefix(f"{batch.routing.namespace}.")).inc(number)


def _undeliverable(batch: Batch, index: int, message: str, refusals: int) -> Record:
    """The DLQ record; once the DLQ has refused it too, the same without its value."""
    source = batch.sources[index]
    if refusals > 2:
        raise FatalTransactionError(f"the DLQ refuses even a record without a value: {message}")
    if refusals == 2:
        source = replace(source, value=None, headers=[])
    return batch.routing.refuse(source, DlqReason.UNDELIVERABLE, message)


def _parts(batch: Batch) -> Iterator[range]:
    """The batch in parts that one transaction can carry within its time, whatever the size of the records."""
    first = size = 0
    for index, caused in enumerate(batch.caused):
        size += sum(len(record.value or b"") for record in caused)
        if size > LARGEST_TRANSACTION:
            yield range(first, index + 1)
            first, size = index + 1, 0
    if first < len(batch.sources) or not batch.sources:
        yield range(first, len(batch.sources))


def _nexts_of(batch: Batch, part: range) -> Mapping[Place, int]:
    """The offsets of `part`; the last part, which goes when all others are committed, carries all of them."""
    if part.stop == len(batch.sources):
        return batch.nexts
    return {(source.topic, source.partition): source.offset + 1 for source in (batch.sources[index] for index in part)}
