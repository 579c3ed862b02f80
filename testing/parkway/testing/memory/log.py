"""The log: ordered records per topic and partition, committed offsets, and transactions that are atomic.

What a broker would refuse is refused here: a record for a topic that is not there, and one that is too large.
Everything that is in the log is committed: a transaction is written in one step, so nobody sees half of one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from confluent_kafka import TopicPartition

from parkway.runtime.records import Record
from parkway.runtime.topology import TopicSpec
from parkway.runtime.transaction_errors import RecordRefusedError
from parkway.testing.log_record import LogRecord, partition_of

Place = tuple[str, int]

_UNLIMITED: Final = 2**31
_OVERHEAD: Final = 70  # bytes of a batch of one record


class MemoryLog:
    """`now_ms` gives the timestamps. Used on one event loop. It outlives the processes that use it."""

    def __init__(self, partitions: int, now_ms: Callable[[], int]) -> None:
        self.partitions = partitions
        self._now_ms = now_ms
        self._largest: dict[str, int] = {}
        self._records: dict[Place, list[LogRecord]] = defaultdict(list)
        self._order: list[LogRecord] = []  # as they were written, over all topics
        self._committed: dict[tuple[str, Place], tuple[int, str]] = {}
        self._watchers: list[Callable[[set[Place]], None]] = []

    def create(self, specs: Iterable[TopicSpec]) -> None:
        for spec in specs:
            self._largest[spec.name] = int(spec.config.get("max.message.bytes", _UNLIMITED))

    def watch(self, watcher: Callable[[set[Place]], None]) -> None:
        """`watcher` is told the places that a transaction has written to."""
        self._watchers.append(watcher)

    def forget_watchers(self) -> None:
        self._watchers.clear()

    def end(self, topic: str, partition: int) -> int:
        return len(self._records[topic, partition])

    def read(self, topic: str, partition: int, offset: int, most: int) -> list[LogRecord]:
        return self._records[topic, partition][offset : offset + most]

    def of_topics(self, topics: Iterable[str]) -> list[LogRecord]:
        """All records of these topics, in the order in which they were written."""
        wanted = set(topics)
        return [record for record in self._order if record.topic in wanted]

    def committed(self, group: str, place: Place) -> tuple[int, str] | None:
        """Offset and metadata."""
        return self._committed.get((group, place))

    def write(
        self, records: Sequence[Record], group: str | None = None, offsets: Sequence[TopicPartition] = ()
    ) -> Mapping[Place, int]:
        """One transaction; the last offset that it got in each place. Raises RecordRefusedError, and writes nothing."""
        self._check(records)
        delivered: dict[Place, int] = {}
        for record in records:
            partition = record.partition
            if partition is None or partition < 0:  # a foreign topic: its own partitioner decides
                partition = partition_of(record.key, self.partitions, len(self._order))
            place = (record.topic, partition)
            delivered[place] = len(self._records[place])
            stored = LogRecord(
                record.topic,
                partition,
                delivered[place],
                self._now_ms(),
                record.key,
                record.value,
                [(name, value.encode() if isinstance(value, str) else value) for name, value in record.headers],
            )
            self._records[place].append(stored)
            self._order.append(stored)
        for one in offsets:
            assert group is not None
            self._committed[group, (one.topic, one.partition)] = (one.offset, one.metadata or "")
        for watcher in list(self._watchers):
            watcher(set(delivered))
        return delivered

    def _check(self, records: Sequence[Record]) -> None:
        missing = [position for position, record in enumerate(records) if record.topic not in self._largest]
        if missing:
            topics = sorted({records[position].topic for position in missing})
            raise RecordRefusedError(f"there is no topic {', '.join(topics)}", missing)
        large = [position for position, record in enumerate(records) if _size(record) > self._largest[record.topic]]
        if large:
            raise RecordRefusedError("Broker: Message size too large", large[:1])


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.value or b"") + len(record.key or b"") + headers + _OVERHEAD
