"""Produces events to `requests`: idempotent, without transactions, each at most once."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from parkway.client.answers import Root
from parkway.client.errors import NotDeliveredError
from parkway.client.waiters import Begins, Waiter
from parkway.runtime.clients import admin_client, plain_producer
from parkway.runtime.log_offsets import high_watermarks
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings
from parkway.schemas.headers import Headers

_FRESH: Final = 1.0  # seconds: what was written in that time may be read for nothing
_STUCK: Final = 10.0  # some clients never find a broker again that stood still
_RETRY: Final = 0.05
_POLL: Final = 0.1
_PAUSE: Final = 0.005
_BATCH: Final = 1_000
_DELIVERY: Final = 120.0  # what becomes of a record that no broker takes is known after so many seconds
_MORE_THAN_ONE: Final = 0.02

_SAME: Final = {"delivery.timeout.ms": "message.timeout.ms", "queue.buffering.max.ms": "linger.ms"}  # older names

_TIMED_OUT: Final = KafkaError._MSG_TIMED_OUT  # noqa: SLF001  librdkafka's local codes begin with an underscore
_FATAL: Final = KafkaError._FATAL  # noqa: SLF001
_GONE: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001


@dataclass(slots=True)
class Outgoing:
    """A record to produce. `done(root)` or `failed(error)` is called once, on a thread of the sender."""

    value: bytes
    key: str | bytes | None
    headers: Headers
    done: Callable[[Root], None]
    failed: Callable[[NotDeliveredError], None]
    waiter: Waiter | None = None


class Sender:
    """Two threads: one asks where answers would begin and produces, one serves delivery reports.

    An answer comes after its request was produced. So it stands behind the ends that its topics had before; they are
    asked at most once a second, and not at all while `reads_all()` says that every partition is read anyway.
    """

    def __init__(
        self,
        settings: Settings,
        client_id: str,
        places: Sequence[tuple[str, int]],
        reads_all: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._client_id = client_id
        self._topic = settings.topics.requests
        self._places = list(places)
        self._reads_all = reads_all
        self._log = get_logger("client")
        self._queue: SimpleQueue[Outgoing | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._left = 0  # events whose outcome is not known
        self._behind = 0  # those of them that wait for the first thread
        self._begins: Begins | None = None
        self._admin = admin_client(settings, client_id)
        self._stuck: list[AdminClient] = []  # kept: to destroy one whose broker is gone can hang
        self._producer = self._make()
        self._producers = [self._producer]
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._send_for_ever, name="parkway-client-sender", daemon=True),
            threading.Thread(target=self._poll_for_ever, name="parkway-client-reports", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def send(self, outgoing: Outgoing) -> None:
        """Produce it: at once where that needs no waiting, else soon, behind what waits already. Any thread."""
        with self._lock:
            self._left += 1
            first = self._behind == 0
        if first and self._at_once(outgoing):
            return
        with self._lock:
            self._behind += 1
        self._queue.put(outgoing)

    def stop(self, seconds: float) -> None:
        """Send what is there, for `seconds` at most; the rest fails.

        A delivery report may bring something more to send: a cancellation that waited for it.
        """
        give_up = time.monotonic() + seconds
        while self._left and time.monotonic() < give_up:
            self._producer.flush(_RETRY)
            time.sleep(_PAUSE)
        self._stopping.set()
        self._queue.put(None)
        for thread in self._threads:
            thread.join(1)
        for producer in self._producers:
            producer.purge()
            producer.flush(_RETRY)

    # -- the first thread

    def _send_for_ever(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, last = [first], False
            try:
                while len(batch) < _BATCH:
                    another = self._queue.get_nowait()
                    if another is None:
                        last = True
                        break
                    batch.append(another)
            except Empty:
                pass
            for outgoing in batch:
                self._send(outgoing)
                with self._lock:
                    self._behind -= 1
            if last:
                return

    def _send(self, outgoing: Outgoing) -> None:
        waiter = outgoing.waiter
        if waiter is not None:
            if not waiter.over:
                waiter.begins = self._fresh_begins()
            if waiter.over or self._stopping.is_set():
                self._fail(outgoing, NotDeliveredError("nobody waited for it any more"))
                return
            waiter.produced_at = time.monotonic()
        while not self._produce(outgoing):
            self._producer.poll(_RETRY)

    # -- any thread

    def _at_once(self, outgoing: Outgoing) -> bool:
        """A hop to another thread costs a lone request some milliseconds on a busy machine."""
        waiter, begins, now = outgoing.waiter, self._begins, time.monotonic()
        if waiter is not None:
            if begins is None or not self._is_usable(begins, now):
                return False
            waiter.begins, waiter.produced_at = begins, now
        return self._produce(outgoing)

    def _is_usable(self, begins: Begins, now: float) -> bool:
        return now - begins.taken_at <= _FRESH or self._reads_all()

    def _produce(self, outgoing: Outgoing) -> bool:
        """Hand it to librdkafka. False: try again, its queue is full or it had to be made anew."""
        producer = self._producer
        report = partial(self._reported, producer, outgoing)
        try:
            producer.produce(self._topic, outgoing.value, outgoing.key, headers=outgoing.headers, on_delivery=report)
        except BufferError:
            return False
        except KafkaException as failure:
            error = failure.args[0]
            if error.code() == _FATAL and not self._stopping.is_set():
                self._replace(producer, error)
                return False
            self._fail(outgoing, self._explained(error, outgoing))
        except (TypeError, ValueError) as failure:  # not what librdkafka takes: the others' events must go on
            self._fail(outgoing, NotDeliveredError(f"{self._topic}: cannot be produced: {failure}"))
        return True

    def _fresh_begins(self) -> Begins:
        """Where answers to what is produced now would begin, at the earliest. Waits for a broker."""
        began = time.monotonic()
        found = self._begins
        while found is None or not self._is_usable(found, began):
            now = time.monotonic()
            ends = high_watermarks(self._admin, self._places)
            if ends is not None:
                found = self._begins = Begins(now, ends)
                break
            if self._stopping.is_set():
                return Begins(now, {})
            if now - began > _STUCK:
                self._stuck.append(self._admin)
                self._admin = admin_client(self._settings, self._client_id)
                began = now
            self._stopping.wait(_RETRY)
        return found

    # -- the second one

    def _poll_for_ever(self) -> None:
        while not self._stopping.is_set():
            several = len(self._producers) > 1
            for producer in list(self._producers):
                producer.poll(_MORE_THAN_ONE if several else _POLL)
                if producer is not self._producer and len(producer) == 0:
                    self._producers.remove(producer)

    def _reported(self, producer: Producer, outgoing: Outgoing, error: KafkaError | None, message: Message) -> None:
        if error is None:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            outgoing.done((partition, offset))
            self._forget()
            return
        if error.code() == _TIMED_OUT or error.fatal():
            self._replace(producer, error)
        self._fail(outgoing, self._explained(error, outgoing))

    def _fail(self, outgoing: Outgoing, error: NotDeliveredError) -> None:
        outgoing.failed(error)
        self._forget()

    def _forget(self) -> None:
        with self._lock:
            self._left -= 1

    def _replace(self, producer: Producer, error: KafkaError) -> None:
        """It may never find a broker again, or is dead. What it still has in hand ends by its own reports."""
        if producer is not self._producer:
            return
        self._log.info("client_made_anew", client=self._client_id, reason=error.str())
        self._producer = self._make()
        self._producers.append(self._producer)

    def _explained(self, error: KafkaError, outgoing: Outgoing) -> NotDeliveredError:
        size = len(outgoing.value)
        if error.code() in {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}:
            return NotDeliveredError(
                f"an event of {size:,} bytes is larger than {self._topic} takes (its max.message.bytes; this client's "
                "own limit is message.max.bytes, 1,000,000): send a reference to what is large"
            )
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return NotDeliveredError(f"no right to write to {self._topic}: {error.str()}")
        if error.code() in _GONE:
            return NotDeliveredError("the client was closed before a broker had taken the event", maybe=True)
        if error.code() == _TIMED_OUT:
            return NotDeliveredError(
                f"no broker at {self._settings.bootstrap_servers} took the event in time; it may have been written",
                maybe=True,
            )
        return NotDeliveredError(f"{self._topic}: {error.str()}", maybe=True)

    def _make(self) -> Producer:
        own = {"linger.ms": 0, "partitioner": "murmur2_random", "message.timeout.ms": int(_DELIVERY * 1000)}
        given = {_SAME.get(name, name) for name in self._settings.kafka}
        chosen = {name: value for name, value in own.items() if name not in given}
        return plain_producer(self._settings, self._client_id, chosen)
