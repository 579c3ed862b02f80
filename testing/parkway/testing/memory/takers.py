"""A consumer group of one member, and the taker of continuations, over the log in memory (`workers/takers.py`)."""

import asyncio
from collections.abc import Sequence
from typing import Final

from parkway.runtime.records import Incoming
from parkway.testing.log_record import LogRecord
from parkway.testing.memory.log import MemoryLog, Place
from parkway.workers.consumer_thread import Listener
from parkway.workers.work import Epoch, Lane

_BATCH: Final = 500  # as a consumer's thread


class MemoryTaker:
    """Delivers what is wanted, in the order in which it stands in each partition, a batch an iteration of the loop."""

    def __init__(self, log: MemoryLog, topic: str, lane: Lane, listener: Listener) -> None:
        self.lane = lane
        self._log = log
        self._topic = topic
        self._listener = listener
        self._epoch: Epoch | None = None
        self._positions: dict[int, int] = {}
        self._wanted = 0
        self._full: frozenset[int] = frozenset()
        self._due = False
        log.watch(self._written)

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """Take nothing any more."""
        self._epoch = None

    def join(self, timeout: float | None = None) -> None:
        """There is no thread."""

    def want(self, records: int, full: frozenset[int]) -> None:
        self._wanted, self._full = records, full
        self._deliver_soon()

    def start_taking(self, epoch: Epoch, offsets: Sequence[tuple[int, int]]) -> None:
        self._epoch = epoch
        self._positions = dict(offsets)
        self._deliver_soon()

    async def end_epoch(self) -> None:
        self._epoch = None

    def _written(self, places: set[Place]) -> None:
        if any(topic == self._topic for topic, _ in places):
            self._deliver_soon()

    def _deliver_soon(self) -> None:
        if not self._due and self._epoch is not None:
            self._due = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._due = False
        if self._epoch is None:
            return
        taken: list[Incoming] = []
        for partition, position in self._positions.items():
            if partition in self._full:
                continue
            room = min(self._wanted, _BATCH) - len(taken)
            if room <= 0:
                break
            found = self._log.read(self._topic, partition, position, room)
            self._positions[partition] = position + len(found)
            taken += map(incoming_of, found)
        if taken:
            self._wanted -= len(taken)
            self._listener.taken(self._epoch, self.lane, taken)
            self._deliver_soon()


class MemoryGroup(MemoryTaker):
    """Gets all partitions when it starts."""

    def start(self) -> None:
        epoch = Epoch(1, None)
        asyncio.get_running_loop().call_soon(self._listener.assigned, epoch, range(self._log.partitions))


def incoming_of(record: LogRecord) -> Incoming:
    return Incoming(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        list(record.raw_headers),
    )
