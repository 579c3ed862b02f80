"""The router's loop: take what is there, match it, publish it and commit its offsets in one transaction.

Threads: the one that calls `Router.run` owns the consumer and does the matching; a second one (publisher.py) owns
the producer and runs the transactions. While one batch commits, the next one gathers, already matched: a lone record
goes at once, and batches grow with the backlog. Rules of DESIGN 6.1 that this file keeps: group metadata is captured
in `on_assign` and belongs to that epoch; a revoke waits until the transaction in flight has an outcome; nothing new
begins before it.

One producer, not two in turn. Measured on 2 (busy) cores with 100 triggers and a backlog of 200,000 events of 650
bytes, Kafka 4.4: of 7.7 s the matching thread is busy for 6.2 s and the producer's for 5.5 s, of which 0.9 s go to
`send_offsets` and `commit`, the part that a second producer could overlap (10 topics x 12 partitions: 9.9 s, 8.4 s and
1.0 s of 11.5 s). The interpreter is what is short, not the broker's answers, and one producer needs none of the rules
of order of DESIGN 6.1. At low rates a record waits for the transaction before it either way: offsets of a second
producer are sent after the commit of the first.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from parkway.router.progress import Epoch, Place, Progress
from parkway.router.publisher import Batch, Publisher
from parkway.router.routing import Routing
from parkway.router.spans import batch_trace
from parkway.runtime import metrics
from parkway.runtime.clients import check_consumer_error, group_consumer
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.health import Health
from parkway.runtime.log_offsets import log_beginnings
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming, Record, incoming
from parkway.runtime.recovery import RecoveringProducer
from parkway.runtime.renewed_admin import RenewedAdmin
from parkway.runtime.settings import Settings
from parkway.runtime.telemetry import show_plan
from parkway.runtime.transaction_errors import GroupFencedError
from parkway.runtime.watchdog import Heartbeat
from parkway.schemas.avro.codec import RegistryUnavailableError

BATCH: Final = 5_000
LARGEST_BATCH: Final = 20_000
_RECORDS_PER_TOUCHED: Final = 100  # a transaction costs per topic and partition that it touches, hardly per record
_POLL: Final = 0.1
_GATHER: Final = 0.002  # between two looks for records while a transaction is in flight
_ASK: Final = 0.5
_REGISTRY_PAUSE: Final = 2.0
_PREFETCH: Final = {"queued.min.messages": "100000"}


def no_updates() -> None:
    """The plan stays."""


class Router:
    """Runs one plan at a time over its input topics until `stop` is called. Raises what is fatal.

    `updates` is called between batches, often: it returns another plan that is accepted, or None at once. A plan is
    swapped whole; what was matched by the one before is published as that one said.
    """

    def __init__(
        self,
        settings: Settings,
        routing: Routing,
        instance: str,
        updates: Callable[[], Routing | None] = no_updates,
    ) -> None:
        self._routing = routing
        self._updates = updates
        self._log = get_logger("router")
        self._topics = settings.topics
        self._stop = threading.Event()
        client_id = f"{settings.namespace}.router.{instance}"
        group = settings.topics.router_group
        self._heart = Heartbeat()
        prefetch = {name: settings.kafka.get(name, value) for name, value in _PREFETCH.items()}
        self._consumer: Consumer = group_consumer(settings, client_id, group, **prefetch)
        self._publisher = Publisher(
            RecoveringProducer(settings, f"{client_id}.0", group, instance, reports=False), self._heart.beat
        )
        self._group_offsets = GroupOffsets(settings, f"{client_id}.offsets", group)
        self._admin = RenewedAdmin(settings, f"{client_id}.admin")
        self._epoch: Epoch | None = None
        self._progress: Progress | None = None  # of this epoch, once its partitions are being fetched
        self._next: Batch | None = None  # gathers while a transaction is in flight
        self._batch = BATCH
        self._not_ready: str | None = f"it has not joined {group} yet"

    def register(self, health: Health) -> None:
        """Say how this router is: alive, and ready while it is in its group and takes what it owns."""
        health.live("poll", self._heart.why_stalled)
        health.ready("group", lambda: "it is stopping" if self._stop.is_set() else self._not_ready)

    def stop(self) -> None:
        """Finish the batch in hand, leave the group, return from `run`. From any thread."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def run(self) -> None:
        with self._heart:
            try:
                self._publisher.open()
                self._subscribe()
                self._log.info("router_started", plan=self._routing.plan.build, actions=len(self._routing.plan.actions))
                while not self._stop.is_set():
                    self._heart.beat()
                    self._swap_plan()
                    self._step()
                self._publish_all()
            finally:
                self._consumer.close()
                self._group_offsets.close()
                self._publisher.close()
                self._log.info("router_stopped")

    def _subscribe(self) -> None:
        self._consumer.subscribe(
            list(self._routing.input_topics),
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def _swap_plan(self) -> None:
        routing = self._updates()
        if routing is None:
            return
        before, self._routing = self._routing, routing
        self._publish_all()  # a batch carries the marks of one plan
        if self._epoch is not None and self._progress is not None:
            self._progress.swap_plan()
            self._size_batches(self._epoch)
        show_plan(routing.plan)
        self._log.info("plan_swapped", plan=routing.plan.build, before=before.plan.build)
        if set(routing.input_topics) != set(before.input_topics):
            self._end_epoch()  # no record of a topic that this plan does not read: a rebalance is on its way
            self._subscribe()

    def _step(self) -> None:
        if self._epoch is not None and self._progress is None:
            self._start_fetching(self._epoch)
        messages = self._take()
        epoch, progress = self._epoch, self._progress
        if epoch is None or progress is None:
            return
        if messages:
            self._gather(epoch, progress, messages)
        if self._next is not None:
            full = len(self._next.sources) >= self._batch
            if full or not self._publisher.busy(0.0 if messages else _GATHER):
                self._publish_next()
        elif not messages and not self._publisher.busy():
            self._settle()
            self._commit_idle()

    def _start_fetching(self, epoch: Epoch) -> None:
        """Assign explicit offsets, as soon as no transaction holds any of them pending."""
        committed = self._group_offsets.committed(epoch.partitions, _ASK)
        if committed is None:
            return
        new = [(one.topic, one.partition) for one in committed if one.offset < 0]
        beginnings = self._admin.ask(lambda admin: log_beginnings(admin, new))
        if beginnings is None:
            return
        for one in committed:
            one.offset = beginnings.get((one.topic, one.partition), one.offset)
        self._consumer.assign([TopicPartition(one.topic, one.partition, one.offset) for one in committed])
        self._progress = Progress(committed, self._routing.plan.build)
        self._not_ready = None
        self._size_batches(epoch)

    def _size_batches(self, epoch: Epoch) -> None:
        touched = len(self._routing.plan.actions) * len({one.partition for one in epoch.partitions})
        self._batch = max(BATCH, min(LARGEST_BATCH, _RECORDS_PER_TOUCHED * touched))

    def _take(self) -> list[Message]:
        """What is there, at once: the first record may be waited for, a batch is never."""
        epoch = self._epoch
        waiting = self._next is not None
        first = self._consumer.poll(0 if waiting else _POLL)
        if first is None:
            return []
        taken = [first, *self._consumer.consume(self._batch - 1, 0)]
        if self._epoch is not epoch:
            # A rebalance ran inside these calls: nobody can tell which epoch each record belongs to.
            self._progress = None  # fetch from the committed offsets
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

    def _gather(self, epoch: Epoch, progress: Progress, messages: Sequence[Message]) -> None:
        """Match `messages` and add them to the next batch."""
        sources = [incoming(message) for message in messages]
        trace = batch_trace(self._topics) if self._next is None else self._next.trace
        if trace is None:
            caused = [self._route(source) for source in sources]
        else:
            caused = [trace.route(source, self._route) for source in sources]
        nexts: dict[Place, int] = {}
        for source in sources:
            nexts[source.topic, source.partition] = source.offset + 1
        for topic, taken in Counter(source.topic for source in sources).items():
            metrics.TAKEN.labels(self._routing.role(topic)).inc(taken)
        self._routing.report()
        commits = progress.advance(nexts)
        if self._next is None:
            self._next = Batch(epoch, self._routing, sources, caused, commits, trace)
        else:
            self._next.add(sources, caused, commits)

    def _route(self, source: Incoming) -> list[Record]:
        while True:
            try:
                return self._routing.route(source)
            except RegistryUnavailableError as error:
                # The record is not to blame. Standing still is all that keeps the order.
                self._log.warning("schema_registry_unavailable", detail=str(error))
                self._heart.beat()
                if self._stop.wait(_REGISTRY_PAUSE):
                    raise

    def _publish_next(self) -> None:
        self._settle()
        batch, self._next = self._next, None
        if batch is not None:
            self._publisher.submit(batch)

    def _publish_all(self) -> None:
        self._publish_next()
        self._settle()

    def _settle(self) -> None:
        """Wait for the outcome of the transaction in flight; raises what is fatal."""
        try:
            self._publisher.settle()
        except GroupFencedError as error:
            # The group has moved on without us: what is in hand is another's. on_lost is on its way.
            self._log.warning("fenced_by_group", detail=str(error))
            self._end_epoch()

    def _commit_idle(self) -> None:
        """Commit past trailing control records, so that lag can reach zero, and the plan in force."""
        epoch, progress = self._epoch, self._progress
        if epoch is None or progress is None:
            return
        owned = [TopicPartition(one.topic, one.partition) for one in epoch.partitions]
        commits = progress.advance_idle(self._consumer.position(owned))
        if commits:
            self._publisher.submit(Batch(epoch, self._routing, [], [], commits))

    # -- rebalance callbacks: on the consumer's thread, inside poll

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.assign([])
        self._end_epoch()
        self._not_ready = None
        if partitions:
            self._epoch = Epoch(consumer.consumer_group_metadata(), partitions)
            self._not_ready = "it does not take yet: committed offsets are not known, or held by a transaction"
        metrics.REBALANCES.labels(self._topics.router_group).inc()
        metrics.ASSIGNED.labels(self._topics.router_group).set(len(partitions))
        self._log.info("assigned", partitions=len(partitions))

    def _on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            self._settle()
        finally:
            self._end_epoch()
            metrics.ASSIGNED.labels(self._topics.router_group).set(0)
        self._log.info("revoked", partitions=len(partitions))

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._on_revoke(consumer, partitions)

    def _end_epoch(self) -> None:
        self._epoch = self._progress = self._next = None
        self._not_ready = f"{self._topics.router_group} rebalances"
