"""Reads answers: one consumer for a client, assigned by hand to partitions that have requests in flight.

Probed with librdkafka 2.16 on Kafka 4.4: a partition that is added to an assignment is fetched when the fetch that is
under way for the others returns, which is `fetch.wait.max.ms` later while they are idle (100 ms by default: 38 to 116
ms until its first record; 10 ms here). Some clients never find a broker again that stood still (see
runtime/transactions.py): so after any trouble the consumer is made anew, at the offsets that were read to.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from parkway.client.answers import answer_of
from parkway.client.errors import ClientError
from parkway.client.in_flight import InFlight
from parkway.client.waiters import Begins
from parkway.runtime.clients import manual_consumer
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings

_POLL: Final = 0.01  # a new partition waits so long, in seconds
_IDLE_POLL: Final = 1.0
_BATCH: Final = 1_000
_KEEP: Final = 30.0  # a partition is read on for so long after its last answer: the next one needs no new start
_LOOK: Final = 1.0
_TROUBLED: Final = 5.0  # so long after trouble the consumer is made anew

_NO_RIGHT: Final = KafkaError.TOPIC_AUTHORIZATION_FAILED


@dataclass(slots=True)
class _Partition:
    """What is read of one partition: topic -> the next offset. It holds everything that was written since `since`."""

    since: float
    next: dict[str, int]
    used: float


@dataclass(frozen=True, slots=True)
class _Want:
    partition: int
    begins: Begins
    produced_at: float


class Reader(threading.Thread):
    """Gives every record that was caused by one of `requests` to `in_flight`. `want` is for any thread."""

    def __init__(self, settings: Settings, client_id: str, topics: Sequence[str], in_flight: InFlight) -> None:
        super().__init__(name="parkway-client-reader", daemon=True)
        self._settings = settings
        self._client_id = client_id
        self._topics = list(topics)
        self._in_flight = in_flight
        self._wanted: SimpleQueue[_Want | None] = SimpleQueue()
        self._partitions: dict[int, _Partition] = {}
        self._log = get_logger("client")
        self._trouble: float | None = None
        self._looked = 0.0
        self._stopping = False
        self._consumer = self._make()

    def want(self, partition: int, begins: Begins, produced_at: float) -> None:
        """Read this partition: it holds a request that was produced at `produced_at`, after `begins` were taken."""
        self._wanted.put(_Want(partition, begins, produced_at))

    def reads(self) -> int:
        """How many partitions are read now."""
        return len(self._partitions)

    def stop(self) -> None:
        self._stopping = True
        self._wanted.put(None)

    def run(self) -> None:
        while not self._stopping:
            try:
                self._take_wanted()
                if self._partitions:
                    self._read()
                self._look()
            except Exception:  # nobody else reads: it goes on with a new consumer, whatever this was
                self._log.exception("client_reader_raised")
                time.sleep(_LOOK)
                self._assign_anew()
        self._consumer.close()

    def _take_wanted(self) -> None:
        """Without partitions it waits for one here."""
        try:
            want = self._wanted.get(timeout=_IDLE_POLL) if not self._partitions else self._wanted.get_nowait()
            while True:
                if want is not None:
                    self._begin(want)
                want = self._wanted.get_nowait()
        except Empty:
            return

    def _begin(self, want: _Want) -> None:
        found = self._partitions.get(want.partition)
        if found is not None and found.since <= want.produced_at:
            found.used = time.monotonic()
            return
        begins = {topic: want.begins.of(topic, want.partition) for topic in self._topics}
        if found is not None:  # begun for a later request
            begins = {topic: min(begins[topic], found.next.get(topic, begins[topic])) for topic in self._topics}
            self._consumer.incremental_unassign([TopicPartition(topic, want.partition) for topic in found.next])
        self._partitions[want.partition] = _Partition(want.begins.taken_at, begins, time.monotonic())
        self._consumer.incremental_assign(
            [TopicPartition(topic, want.partition, offset) for topic, offset in begins.items()]
        )

    def _read(self) -> None:
        message = self._consumer.poll(_POLL)
        if message is None:
            return
        self._take(message)
        for another in self._consumer.consume(_BATCH, 0):
            self._take(another)

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            self._failed(error, message.topic())
            return
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        reading = self._partitions.get(partition)
        if reading is None:
            return
        reading.next[topic] = offset + 1
        answer = answer_of(message, self._settings.topics)
        if answer is not None:
            self._in_flight.offer(answer)

    def _failed(self, error: KafkaError, topic: str | None) -> None:
        if error.code() == _NO_RIGHT and topic == self._settings.topics.dlq:
            self._log.warning("dlq_not_watched", reason=error.str())
            self._topics.remove(topic)
            for reading in self._partitions.values():
                reading.next.pop(topic, None)
            self._assign_anew()
        elif error.code() == _NO_RIGHT or error.fatal():
            self._in_flight.fail(ClientError(f"{topic or 'answers'} cannot be read: {error.str()}"))
        else:
            self._on_trouble(error)

    def _on_trouble(self, error: KafkaError) -> None:
        """It reconnects by itself, most of the time."""
        self._log.debug("kafka_client_error", client=self._client_id, code=error.name(), reason=error.str())
        if self._trouble is None:
            self._trouble = time.monotonic()

    def _look(self) -> None:
        """Now and then: drop what nobody waits in, replace a consumer that had trouble."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        for number, reading in self._partitions.items():
            if self._in_flight.waits_in(number):
                reading.used = now
        idle = [number for number, reading in self._partitions.items() if now - reading.used > _KEEP]
        if idle and not self._in_flight.is_undelivered():  # what is undelivered may be in one of them
            gone = [TopicPartition(topic, number) for number in idle for topic in self._partitions.pop(number).next]
            self._consumer.incremental_unassign(gone)
        if self._trouble is not None and now - self._trouble > _TROUBLED:
            self._log.info("client_made_anew", client=self._client_id, reason="it had lost the brokers")
            self._assign_anew()

    def _assign_anew(self) -> None:
        """A new consumer at the same offsets. The old one is closed on the side: that can hang without a broker."""
        self._trouble = None
        threading.Thread(target=self._consumer.close, name="parkway-client-closing", daemon=True).start()
        self._consumer = self._make()
        self._consumer.assign(
            [
                TopicPartition(topic, number, offset)
                for number, reading in self._partitions.items()
                for topic, offset in reading.next.items()
            ]
        )

    def _make(self) -> Consumer:
        return manual_consumer(
            self._settings, self._client_id, **{"fetch.wait.max.ms": 10, "error_cb": self._on_trouble}
        )
