"""The router's loop: take what is there, match it, publish it and commit its offsets in one transaction.

Threads: the one that calls `Router.run` owns the consumer and does the matching; a second one owns the
producer and runs the transactions, so that one batch is taken and matched while the one before commits.
Rules of DESIGN 6.1 that this file keeps: group metadata is captured in `on_assign` and belongs to that epoch;
a revoke waits until the transaction in flight has an outcome; nothing new begins before it.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from parkway.router.routing import Routing
from parkway.runtime import metrics
from parkway.runtime.clients import check_consumer_error, group_consumer
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.logs import get_logger
from parkway.runtime.plan_mark import PlanMark
from parkway.runtime.records import Incoming, Record, incoming
from parkway.runtime.settings import Settings
from parkway.runtime.transactions import (
    LARGEST_TRANSACTION,
    AbortedError,
    FatalTransactionError,
    GroupFencedError,
    RecordRefusedError,
    TransactionalProducer,
)
from parkway.schemas.avro.codec import RegistryUnavailableError
from parkway.schemas.errors import DlqReason

BATCH: Final = 2_000
_POLL: Final = 0.1
_ASK: Final = 0.5
_REGISTRY_PAUSE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Epoch:
    """One assignment: what is committed for it carries the group metadata captured when it began."""

    number: int
    metadata: Any


@dataclass(frozen=True, slots=True)
class Batch:
    """Source records with what each causes, and the offsets that are committed with them."""

    epoch: Epoch
    sources: Sequence[Incoming]
    caused: Sequence[Sequence[Record]]
    offsets: Sequence[TopicPartition]


class Router:
    """Runs one plan over `requests` and `events` until `stop` is called. Raises what is fatal."""

    def __init__(self, settings: Settings, routing: Routing, instance: str) -> None:
        self._topics = settings.topics
        self._routing = routing
        self._log = get_logger("router").bind(instance=instance)
        self._stop = threading.Event()
        client_id = f"{settings.namespace}.router.{instance}"
        self._consumer: Consumer = group_consumer(settings, client_id, self._topics.router_group)
        self._producer = TransactionalProducer(settings, f"{client_id}.0")
        self._committer = ThreadPoolExecutor(1, thread_name_prefix="router-producer")
        self._epoch: Epoch | None = None
        self._epochs = 0
        self._assigned: list[TopicPartition] = []
        self._started = False  # the partitions of this epoch are being fetched
        self._group_offsets = GroupOffsets(settings, f"{client_id}.offsets", self._topics.router_group)
        self._in_flight: Future[None] | None = None
        self._sent: dict[tuple[str, int], int] = {}  # offsets of the newest transaction of this epoch
        self._meta = str(PlanMark(routing.plan.build))

    def stop(self) -> None:
        """Finish the batch in hand, leave the group, return from `run`. From any thread."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def run(self) -> None:
        self._committer.submit(self._producer.open).result()
        self._consumer.subscribe(
            [self._topics.requests, self._topics.events],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )
        self._log.info("router_started", plan=self._routing.plan.build, actions=len(self._routing.plan.actions))
        try:
            while not self._stop.is_set():
                self._step()
            self._settle()
        finally:
            self._consumer.close()
            self._group_offsets.close()
            self._committer.shutdown()
            self._log.info("router_stopped")

    def _step(self) -> None:
        if self._epoch is not None and not self._started:
            self._start_fetching()
        messages = self._take()
        if self._epoch is None:
            return
        if messages:
            self._submit(self._match(self._epoch, messages))
        else:
            self._settle()
            self._commit_idle_positions()

    def _start_fetching(self) -> None:
        """Assign explicit offsets, as soon as no transaction holds any of them pending."""
        committed = self._group_offsets.committed(self._assigned, _ASK)
        if committed is not None:
            self._consumer.assign(
                [TopicPartition(one.topic, one.partition, _or_earliest(one.offset)) for one in committed]
            )
            # From here on positions that move without a record (aborted ones, control records) are committed too.
            self._sent = {(one.topic, one.partition): max(0, one.offset) for one in committed}
            self._started = True

    def _take(self) -> list[Message]:
        """What is there, at once: the first record may be waited for, a batch is never."""
        epoch = self._epoch
        first = self._consumer.poll(_POLL)
        if first is None:
            return []
        taken = [first, *self._consumer.consume(BATCH - 1, 0)]
        if self._epoch is not epoch:
            # A rebalance ran inside these calls: nobody can tell which epoch each record belongs to.
            self._started = False  # fetch from the committed offsets
            return []
        messages = []
        for message in taken:
            error = message.error()
            if error is None:
                messages.append(message)
            else:
                self._on_consumer_error(error)
        return messages

    def _on_consumer_error(self, error: KafkaError) -> None:
        check_consumer_error(error)
        self._log.warning("consumer_error", code=error.name(), detail=error.str())

    def _match(self, epoch: Epoch, messages: Sequence[Message]) -> Batch:
        sources = [incoming(message) for message in messages]
        nexts: dict[tuple[str, int], int] = {}
        for source in sources:
            nexts[source.topic, source.partition] = source.offset + 1
        outside = sum(source.topic == self._topics.requests for source in sources)
        metrics.TAKEN.labels("requests").inc(outside)
        metrics.TAKEN.labels("events").inc(len(sources) - outside)
        return Batch(epoch, sources, [self._route(source) for source in sources], self._offsets(nexts))

    def _route(self, source: Incoming) -> list[Record]:
        while True:
            try:
                return self._routing.route(source)
            except RegistryUnavailableError as error:
                # The record is not to blame. Standing still is all that keeps the order.
                self._log.warning("schema_registry_unavailable", detail=str(error))
                if self._stop.wait(_REGISTRY_PAUSE):
                    raise

    def _offsets(self, nexts: dict[tuple[str, int], int]) -> list[TopicPartition]:
        self._sent.update(nexts)
        return [TopicPartition(topic, partition, offset, self._meta) for (topic, partition), offset in nexts.items()]

    def _submit(self, batch: Batch) -> None:
        self._settle()
        if batch.epoch is self._epoch:
            self._in_flight = self._committer.submit(self._commit, batch)

    def _settle(self) -> None:
        """Wait for the outcome of the transaction in flight; raises what is fatal."""
        future, self._in_flight = self._in_flight, None
        if future is None:
            return
        try:
            future.result()
        except GroupFencedError as error:
            # The group has moved on without us: what is in hand is another's. on_lost is on its way.
            self._log.warning("fenced_by_group", detail=str(error))
            self._epoch = None

    def _commit_idle_positions(self) -> None:
        """Commit past trailing control records, so that lag can reach zero."""
        epoch = self._epoch
        if epoch is None or not self._sent:
            return
        owned = [TopicPartition(topic, partition) for topic, partition in self._sent]
        nexts = {
            (position.topic, position.partition): position.offset
            for position in self._consumer.position(owned)
            if position.offset > self._sent[position.topic, position.partition]
        }
        if nexts:
            self._submit(Batch(epoch, [], [], self._offsets(nexts)))
            self._settle()

    # -- on the producer's thread

    def _commit(self, batch: Batch) -> None:
        started = time.perf_counter()
        for part in _parts(batch):
            self._publish(batch, part)
        metrics.TRANSACTION_SECONDS.labels("router").observe(time.perf_counter() - started)

    def _publish(self, batch: Batch, part: range) -> None:
        """Publish the sources in `part`, in order; a record that Kafka refuses is found by halving."""
        caused = {index: batch.caused[index] for index in part}
        refusals: Counter[int] = Counter()
        aborts = 0
        while True:
            records = [record for index in part for record in caused[index]]
            owners = [index for index in part for _ in caused[index]]
            offsets = batch.offsets if len(part) == len(batch.sources) else _offsets_of(batch, part, self._meta)
            try:
                self._producer.commit(records, offsets, batch.epoch.metadata)
            except RecordRefusedError as refused:
                metrics.ABORTED.labels("router").inc()
                guilty = {owners[position] for position in refused.guilty}
                if not guilty and len(part) > 1:
                    half = len(part) // 2
                    self._publish(batch, part[:half])
                    self._publish(batch, part[half:])
                    return
                for index in guilty or set(part):
                    refusals[index] += 1
                    caused[index] = [self._undeliverable(batch.sources[index], str(refused), refusals[index])]
            except GroupFencedError:
                raise
            except AbortedError as aborted:
                aborts += 1
                metrics.ABORTED.labels("router").inc()
                self._log.warning("transaction_aborted", detail=str(aborted))
                time.sleep(min(1.0, 0.02 * 2**aborts))
            else:
                return

    def _undeliverable(self, source: Incoming, message: str, refusals: int) -> Record:
        """The DLQ record; once the DLQ has refused it too, the same without its value."""
        if refusals > 2:
            raise FatalTransactionError(f"the DLQ refuses even a record without a value: {message}")
        if refusals == 2:
            source = replace(source, value=None, headers=[])
        return self._routing.refuse(source, DlqReason.UNDELIVERABLE, message)

    # -- rebalance callbacks: on the consumer's thread, inside poll

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._epochs += 1
        self._sent.clear()
        consumer.assign([])
        self._assigned = partitions
        self._started = not partitions
        self._epoch = Epoch(self._epochs, consumer.consumer_group_metadata()) if partitions else None
        self._log.info("assigned", epoch=self._epochs, partitions=len(partitions))

    def _on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            self._settle()
        finally:
            self._epoch = None
            self._assigned = []
        self._log.info("revoked", partitions=len(partitions))

    def _on_lost(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._on_revoke(_consumer, partitions)


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


def _offsets_of(batch: Batch, part: range, meta: str) -> list[TopicPartition]:
    nexts = {(source.topic, source.partition): source.offset + 1 for source in (batch.sources[index] for index in part)}
    return [TopicPartition(topic, partition, offset, meta) for (topic, partition), offset in nexts.items()]


def _or_earliest(offset: int) -> int:
    return offset if offset >= 0 else OFFSET_BEGINNING
