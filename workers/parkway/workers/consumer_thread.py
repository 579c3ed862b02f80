"""A thread that owns one consumer: it takes records as far as they are wanted (DESIGN 3 and 7.1).

One thread per consumer: every call on a `Consumer` runs on its thread. Others post commands, or use what the
callbacks captured. What is taken goes to the event loop with the epoch that it was taken in.

Back-pressure: a thread that may take nothing stops consuming, and pauses after a second of that; a paused one goes
on polling, so that a slow handler never costs group membership. After a `resume` alone librdkafka fetches up to a
second later (probed: 0.7 to 0.96 s after a pause of 1 to 4 s); assigned anew at their positions, resumed partitions
are fetched within 10 ms. Without the `resume` they stay paused, assigned anew or not. What is assigned anew has no
position before it has delivered a record.

Partitions that are full are paused while the others are taken. Probed with librdkafka 2.16: nothing of a partition
comes after its `pause`, not even what was fetched; after a `resume` it goes on at the very next record, also where
nothing was delivered before, within 0.1 to 0.6 s as long as others are fetched. So they are not assigned anew, which
would have everything that is fetched of the others fetched again.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, NamedTuple, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from parkway.runtime.clients import check_consumer_error
from parkway.runtime.health import Health
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming, incoming
from parkway.runtime.watchdog import Heartbeat
from parkway.workers.work import Epoch, Lane

_POLL: Final = 0.05
_BATCH: Final = 500
_PAUSE_AFTER: Final = 1.0


class Wish(NamedTuple):
    """What the event loop would take: records in all, since the thread began, of the partitions that are not full.

    One value, as they belong together: what is full must be paused before a record is taken under the new number.
    """

    allowed: int
    full: frozenset[int]


class Listener(Protocol):
    """Where a consumer thread reports. All but `crashed` run on the event loop."""

    def assigned(self, epoch: Epoch, partitions: Sequence[int]) -> None: ...

    def revoked(self, *, lost: bool) -> Coroutine[Any, Any, None]:
        """Returns when nothing of the epoch is in a transaction any more; the callback waits for it."""
        ...

    def taken(self, epoch: Epoch, lane: Lane, records: Sequence[Incoming]) -> None: ...

    def positions(self, epoch: Epoch, lane: Lane, positions: Sequence[tuple[int, int]]) -> None:
        """(partition, position) pairs of an idle consumer, past trailing control records."""
        ...

    def crashed(self, error: BaseException) -> None: ...


class ConsumerThread(threading.Thread):
    """What both threads share: commands, back-pressure, the take. Subclasses say where partitions come from.

    The commands are for any thread, `_wish` and `_heard` are the event loop's; everything else is this thread's.
    """

    lane: Lane

    def __init__(self, name: str, consumer: Consumer, loop: asyncio.AbstractEventLoop, listener: Listener) -> None:
        super().__init__(name=name, daemon=True)
        self._consumer = consumer
        self._loop = loop
        self._listener = listener
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._log = get_logger("consumer").bind(consumer=name)
        self._epoch: Epoch | None = None  # this thread's view; None: nothing may be taken
        self._partitions: list[TopicPartition] = []  # being fetched
        # Records that may be taken in all, were taken, and were heard of by the event loop. What is on its way between
        # the two threads counts: a loop that is busy would be sent far more than it wants.
        self._wish = Wish(0, frozenset())
        self._taken = self._heard = 0
        self._reported: list[tuple[int, int]] = []  # positions, at the last idle report
        self._paused: frozenset[int] = frozenset()
        self._blocked_since: float | None = None
        self._heart = Heartbeat()

    def want(self, records: int, full: frozenset[int]) -> None:
        """On the event loop: how many more records it would take than it has heard of, and of which partitions none."""
        woken = self._wish.allowed <= self._taken
        self._wish = Wish(self._heard + records, full)
        if woken and self._wish.allowed > self._taken:
            self._commands.put(_nothing)

    def register(self, health: Health) -> None:
        """Say whether this thread is alive."""
        health.live(f"poll:{self.name}", self._heart.why_stalled)

    def stop(self) -> None:
        """From any thread: close the consumer (a group one leaves its group) and end. Join afterwards."""
        self._stopping.set()
        self._commands.put(_nothing)

    def run(self) -> None:
        try:
            with self._heart:
                self._open()
                while not self._stopping.is_set():
                    self._heart.beat()
                    self._step()
                self._consumer.close()
        except BaseException as error:
            self._log.exception("consumer_thread_failed")
            self._listener.crashed(error)

    def _open(self) -> None:
        """Begin, on this thread."""

    def _step(self) -> None:
        self._run_commands()
        wish = self._wish
        wanted = wish.allowed - self._taken
        if wanted > 0:
            self._unblock(wish.full)
            self._take(wanted)
        else:
            self._wait_blocked()

    def _run_commands(self, timeout: float | None = None) -> None:
        try:
            if timeout is not None:
                self._commands.get(timeout=timeout)()
            while True:
                self._commands.get_nowait()()
        except queue.Empty:
            return

    def _wait_blocked(self) -> None:
        now = time.monotonic()
        if self._blocked_since is None:
            self._blocked_since = now
        if now - self._blocked_since < _PAUSE_AFTER:
            self._run_commands(timeout=_POLL)
            return
        self._pause(frozenset(one.partition for one in self._partitions))
        self._deliver(self._poll())  # serves the group; a record that was on its way is taken all the same

    def _unblock(self, full: frozenset[int]) -> None:
        """Fetch everything but what is full."""
        self._blocked_since = None
        if not self._paused:
            if full:
                self._pause(full)
            return
        if len(self._paused) == len(self._partitions):
            self._assign([self._place(position) for position in self._consumer.position(self._partitions)])
        self._pause(full)
        self._resume(self._paused - full)

    def _pause(self, partitions: frozenset[int]) -> None:
        pausing = [one for one in self._partitions if one.partition in partitions - self._paused]
        if pausing:
            self._consumer.pause(pausing)
            self._paused |= {one.partition for one in pausing}

    def _resume(self, partitions: frozenset[int]) -> None:
        """Before anything else is assigned: a paused partition comes back paused."""
        resuming = [one for one in self._partitions if one.partition in partitions]
        if resuming:
            self._consumer.resume(resuming)
            self._paused -= partitions

    def _place(self, position: TopicPartition) -> TopicPartition:
        """Where fetching goes on: what has delivered nothing yet has no position."""
        if position.offset >= 0:
            return position
        return next(one for one in self._partitions if one.partition == position.partition)

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self._resume(self._paused)
        self._consumer.assign(partitions)
        self._partitions = partitions
        self._reported = []

    def _take(self, wanted: int) -> None:
        messages = self._poll()
        if messages and self._epoch is not None:
            room = min(_BATCH, wanted) - 1
            if room > 0:
                epoch = self._epoch
                more = self._consumer.consume(room, 0)
                if self._epoch is not epoch:
                    return  # a rebalance ran inside the call: all of these are of an epoch that has ended
                messages += more
        self._deliver(messages)

    def _poll(self) -> list[Message]:
        epoch = self._epoch
        message = self._consumer.poll(_POLL)
        if message is None:
            self._report_idle()
            return []
        return [message] if self._epoch is epoch else []

    def _deliver(self, messages: Sequence[Message]) -> None:
        records = []
        for message in messages:
            error = message.error()
            if error is None:
                records.append(incoming(message))
            else:
                self._on_error(error)
        if records and self._epoch is not None:
            self._taken += len(records)
            self._report(self._hear, self._epoch, records)

    def _hear(self, epoch: Epoch, records: Sequence[Incoming]) -> None:
        """On the event loop."""
        self._heard += len(records)
        self._listener.taken(epoch, self.lane, records)

    def _report_idle(self) -> None:
        """Positions move without a record, too: past control records and aborted ones."""
        if self._epoch is None or not self._partitions:
            return
        positions = [
            (position.partition, position.offset)
            for position in self._consumer.position(self._partitions)
            if position.offset >= 0
        ]
        if positions == self._reported:
            return
        self._reported = positions
        self._report(self._listener.positions, self._epoch, self.lane, positions)

    def _report(self, report: Callable[..., None], *arguments: Any) -> None:
        """Call a method of the listener on the event loop. What it raises would be lost there: it ends the worker."""

        def call() -> None:
            try:
                report(*arguments)
            except Exception as error:
                self._log.exception("worker_raised")
                self._listener.crashed(error)

        self._loop.call_soon_threadsafe(call)

    def _on_error(self, error: KafkaError) -> None:
        check_consumer_error(error)
        if error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001  the log was cut or made again
            raise KafkaException(error)  # the next start looks at it
        self._log.warning("consumer_error", code=error.name(), detail=error.str())


def _nothing() -> None:
    """A command that only wakes the thread."""
