"""One transactional producer, and the rules of DESIGN 6.1 that keep its outcomes known.

- A call that fails retriably is repeated, and nothing else is called, until it resolves or turns fatal.
- A producer on which a call had to be repeated is made anew before its next transaction: the first request
  may still be on its way and would end that one.
- So is one that could not look up topics: after a broker had stood still for ten seconds its client sometimes answered
  `_TRANSPORT` for ever (one time in four under load, librdkafka 2.16), while a new one was served at once.
- A refused record aborts at once (`flush` would wait for the records behind it until they time out:
  librdkafka 2.16 holds them back, a minute in our probe).
- An abort purges what is queued when it is called. A record behind a refused one that comes back into the queue later
  (its own answer was on its way) would be waited for until it times out; the abort is repeated, and purges it.
- `send_offsets` may hang for ever (runtime/bounded_calls.py): then the producer is given up, as after a fatal error.
- There is no transaction without offsets: without them it would not be fenced by the group. (`publish` is for what has
  no group and is fenced by its transactional id alone: one id for the whole namespace, state read after every `open`.)

Not thread safe: one thread at a time calls an object of this class.
"""

import time
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from parkway.runtime import metrics
from parkway.runtime.bounded_calls import BoundedCalls, NeverReturnedError
from parkway.runtime.clients import transactional_producer
from parkway.runtime.error_codes import FENCED, GROUP_MOVED_ON, RECORD_ERRORS, STALE_METADATA
from parkway.runtime.logs import get_logger
from parkway.runtime.records import ANY_PARTITION, Record
from parkway.runtime.settings import Settings
from parkway.runtime.transaction_errors import (
    AbortedError,
    FatalTransactionError,
    GroupFencedError,
    RecordRefusedError,
)
from parkway.runtime.watchdog import Watchdog

LARGEST_TRANSACTION: Final = 16 * 1024 * 1024  # bytes of values: more may not be sent within the time of one

_FENCED_HINT: Final = (
    "; either the broker was away for longer than the transaction timeout, or another process runs as this "
    "instance: give each its own --instance (PARKWAY_INSTANCE)"
)


_METADATA: Final = 10.0
_LOOK_AGAIN: Final = 30.0
_REPORT: Final = 5.0  # a refused record's delivery report follows the failure of the transaction within this
_CALL: Final = 30.0  # what a call of the transactional API is given before it is repeated, in seconds
_DECIDED: Final = 15.0  # after its timeout a transaction is aborted by the broker, which looks every 10 seconds
_ABORT: Final = (1.0, 2.0, 5.0)  # an abort is sooner repeated than waited for, see above
_HANGS: Final = 45.0  # a call of that time hangs
_NEVER: Final = 180.0  # such a call overruns its time; one that took this long does not come back


class TransactionalProducer:
    """Commits records and offsets together, or nothing of them. Without `reports` it does not know `delivered`."""

    def __init__(self, settings: Settings, transactional_id: str, *, reports: bool = True) -> None:
        self._settings = settings
        self._reports = reports
        self._id = transactional_id
        self._log = get_logger("transactions").bind(transactional_id=transactional_id)
        self._refused: list[tuple[KafkaError, Message]] = []
        self._repeated = False
        self.delivered: dict[tuple[str, int], int] = {}  # highest offset that the newest transaction got in each place
        self._producer: Producer | None = None
        self._seen: dict[str, float] = {}  # topics that were there, and until when that is believed
        self._watchdog = Watchdog()
        self._calls = BoundedCalls()

    def open(self) -> None:
        """Make the producer; ends a transaction that a predecessor with this id left open.

        Raises FatalTransactionError, such as for missing rights.
        """
        self._producer = None
        self._repeated = False
        only_failures = not self._reports
        producer = transactional_producer(self._settings, self._id, self._on_delivery, only_failures=only_failures)
        try:
            self._until_resolved("init_transactions", producer.init_transactions, _CALL, for_ever=True)
        except KafkaException as error:
            fenced = error.args[0].code() in FENCED
            raise FatalTransactionError(f"{self._id}: init_transactions: {_text(error)}", fenced=fenced) from error
        self._producer = producer
        self._repeated = False

    def commit(self, records: Sequence[Record], offsets: Sequence[TopicPartition], group_metadata: Any) -> None:
        """One transaction: `records`, and `offsets` under `group_metadata` (of the epoch they belong to).

        Raises AbortedError (RecordRefusedError, GroupFencedError) or FatalTransactionError.
        """
        assert offsets, "a transaction without offsets is not fenced"
        if self.needs_open:
            metrics.RECOVERIES.labels(self._id).inc()
            self.open()
        self._transact(records, offsets, group_metadata)

    def publish(self, records: Sequence[Record]) -> None:
        """One transaction of `records` without offsets: only its transactional id fences it.

        So it never opens itself: when `needs_open`, the caller does, and looks at what another owner of the id may have
        done. Raises as `commit`.
        """
        assert not self.needs_open
        self._transact(records, (), None)

    @property
    def needs_open(self) -> bool:
        """Must it be made (anew) before its next transaction?"""
        return self._producer is None or self._repeated

    def _transact(self, records: Sequence[Record], offsets: Sequence[TopicPartition], group_metadata: Any) -> None:
        producer = self._producer
        assert producer is not None
        self._refused.clear()
        self.delivered = {}
        try:
            self._check_topics(producer, records)
            producer.begin_transaction()
            self._produce(producer, records)
            if offsets:
                self._until_resolved("send_offsets", self._send_offsets, producer, list(offsets), group_metadata)
            self._until_resolved("commit", producer.commit_transaction, _CALL)
        except KafkaException as failure:
            self._abort_after(producer, failure)

    def _send_offsets(self, producer: Producer, offsets: list[TopicPartition], group_metadata: Any) -> None:
        try:
            self._calls.make(producer.send_offsets_to_transaction, offsets, group_metadata, _CALL, seconds=_HANGS)
        except NeverReturnedError as lost:
            raise FatalTransactionError(f"{self._id}: send_offsets never returned: {lost}") from None

    def _produce(self, producer: Producer, records: Sequence[Record]) -> None:
        produce = producer.produce
        for position, record in enumerate(records):
            try:
                produce(record.topic, record.value, record.key, record.partition, headers=record.headers)
            except (BufferError, KafkaException) as failure:
                if not self._produce_after(failure, producer, position, record):
                    break  # an earlier record was refused: its delivery report says which
        while producer.flush(0.1) and not self._refused:
            pass
        if self._refused:
            self._abort(producer)
            self._raise_refused(records)

    def _produce_after(
        self, failure: BufferError | KafkaException, producer: Producer, position: int, record: Record
    ) -> bool:
        """Produce a record that was not taken at first.

        False when the transaction has failed meanwhile by an earlier record. Raises RecordRefusedError.
        """
        refreshed = False
        while True:
            if isinstance(failure, BufferError):  # librdkafka's queue is full: let it send
                producer.poll(0.1)
            else:
                code = failure.args[0].code()
                if code == KafkaError._STATE:  # noqa: SLF001  produce() after a refusal, before its report
                    return self._wait_for_refusal(producer, failure)
                if code in STALE_METADATA and not refreshed:
                    refreshed = True  # partitions may have been added since this producer looked
                    self._refresh(producer, record.topic)
                elif code in RECORD_ERRORS:
                    self._abort(producer)
                    raise RecordRefusedError(_text(failure), [position]) from failure
                else:
                    raise failure
            if self._refused:
                return False
            try:
                producer.produce(record.topic, record.value, record.key, record.partition, headers=record.headers)
            except (BufferError, KafkaException) as again:
                failure = again
            else:
                return True

    def _refresh(self, producer: Producer, topic: str) -> None:
        try:
            producer.list_topics(topic, _METADATA)
        except KafkaException as unanswered:
            self._abort(producer)
            raise AbortedError(_text(unanswered)) from unanswered

    def _wait_for_refusal(self, producer: Producer, failure: KafkaException) -> bool:
        give_up = time.monotonic() + _REPORT
        while not self._refused:
            if time.monotonic() > give_up:
                raise failure
            producer.poll(0.1)
        return False

    def _check_topics(self, producer: Producer, records: Sequence[Record]) -> None:
        """A topic that is gone costs the whole transaction timeout, and an abort that can be fatal: look before."""
        now = time.monotonic()
        missing = set()
        for topic in {record.topic for record in records}:
            if self._seen.get(topic, 0.0) > now:
                continue
            try:
                found = producer.list_topics(topic, _METADATA).topics.get(topic)
            except KafkaException as unanswered:  # the broker is away; nothing is begun yet
                self._repeated = True  # some clients never find a broker again that stood still: see above
                raise AbortedError(_text(unanswered)) from unanswered
            if found is None or found.error is not None or not found.partitions:
                missing.add(topic)
            else:
                self._seen[topic] = now + _LOOK_AGAIN
        if missing:
            guilty = [position for position, record in enumerate(records) if record.topic in missing]
            raise RecordRefusedError(f"there is no topic {', '.join(sorted(missing))}", guilty)

    def _raise_refused(self, records: Sequence[Record]) -> None:
        errors = [error for error, _ in self._refused]
        about_records = [(error, message) for error, message in self._refused if error.code() in RECORD_ERRORS]
        if not about_records:
            raise AbortedError(f"not delivered: {errors[0].str()}")
        guilty = [
            position
            for position, record in enumerate(records)
            if any(_same(record, message) for _, message in about_records)
        ]
        # A broker refuses a whole batch for one record in it: only a lone one is known to be guilty.
        raise RecordRefusedError(about_records[0][0].str(), guilty if len(guilty) == 1 else [])

    def _abort_after(self, producer: Producer, failure: KafkaException) -> None:
        error = failure.args[0]
        if error.fatal() or not error.txn_requires_abort():
            fenced = error.code() in FENCED
            hint = _FENCED_HINT if fenced else ""
            raise FatalTransactionError(f"{self._id}: {_text(failure)}{hint}", fenced=fenced) from failure
        self._abort(producer)
        if error.code() in GROUP_MOVED_ON:
            raise GroupFencedError(_text(failure)) from failure
        if self._refused:
            raise AbortedError(self._refused[0][0].str()) from failure
        raise AbortedError(_text(failure)) from failure

    def _abort(self, producer: Producer) -> None:
        try:
            patience = chain(_ABORT, repeat(_CALL))
            self._until_resolved("abort", lambda: producer.abort_transaction(next(patience)))
        except KafkaException as failure:
            fenced = failure.args[0].code() in FENCED
            raise FatalTransactionError(f"{self._id}: abort: {_text(failure)}", fenced=fenced) from failure

    def _until_resolved(self, name: str, call: Callable[..., None], *arguments: Any, for_ever: bool = False) -> None:
        """Repeat the call until it tells; raises FatalTransactionError once the broker has decided long since.

        librdkafka 2.16 does not always come to an end by itself: an abort that met a broker that stood still went on
        timing out for ever after it was back. A new producer learns what became of the transaction.
        """
        give_up = time.monotonic() + self._settings.transaction_timeout + _DECIDED
        while True:
            try:
                with self._watchdog.watch(f"{self._id} {name}", _NEVER):
                    call(*arguments)
            except KafkaException as failure:
                error = failure.args[0]
                if error.fatal() or error.txn_requires_abort() or not error.retriable():
                    raise
                self._repeated = True
                self._log.warning("transaction_call_repeated", call=name, reason=error.str())
                if not for_ever and time.monotonic() > give_up:
                    raise FatalTransactionError(f"{self._id}: {name} never ends: {_text(failure)}") from failure
            else:
                return

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            self.delivered[topic, partition] = offset  # reports come in the order of offsets
        elif error.code() != KafkaError._PURGE_QUEUE:  # noqa: SLF001
            self._refused.append((error, message))


def _same(record: Record, message: Message) -> bool:
    return (
        record.topic == message.topic()
        and record.partition in (ANY_PARTITION, message.partition())
        and record.key == message.key()
        and record.value == message.value()
    )


def _text(failure: KafkaException) -> str:
    error = failure.args[0]
    return f"{error.str()} ({error.name()})"
