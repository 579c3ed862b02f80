"""What the machinery calls of Kafka's clients, over the log in memory.

Only what it calls: a worker's producer, the admin client's watermarks, committed offsets, and the consumer that a
restore reads with.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Final, ParamSpec, TypeVar

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from parkway.runtime.records import Record
from parkway.testing.log_record import LogRecord
from parkway.testing.memory.lives import Lives
from parkway.testing.memory.log import MemoryLog, Place

Params = ParamSpec("Params")
Answer = TypeVar("Answer")

_NOTHING_COMMITTED: Final = -1001


class HereExecutor(Executor):
    """Runs a call at once, on the loop: nothing that the machinery waits for takes time here."""

    def submit(self, fn: Callable[Params, Answer], /, *args: Params.args, **kwargs: Params.kwargs) -> Future[Answer]:
        future: Future[Answer] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


class MemoryProducer:
    """A `recovery.Commits`: its transactions are those of one group. The process may die just before and after each."""

    def __init__(self, log: MemoryLog, group: str, lives: Lives) -> None:
        self._log = log
        self._group = group
        self._lives = lives
        self._life = lives.current
        self.delivered: Mapping[Place, int] = {}

    def open(self) -> None:
        """Nothing is to be opened."""

    def commit(self, records: Sequence[Record], offsets: Sequence[TopicPartition], group_metadata: Any) -> None:  # noqa: ARG002  (the protocol's signature)
        """Raises RecordRefusedError, and DiedError when this is the point of death."""
        assert offsets, "a transaction without offsets is not fenced"
        self._lives.before_commit(self._life)
        self.delivered = self._log.write(records, self._group, offsets)
        self._lives.after_commit(self._life, self._group, records)


class MemoryAdmin:
    """`list_offsets`, as far as `log_offsets.py` asks for it."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    def list_offsets(self, request: Mapping[TopicPartition, OffsetSpec], **_: Any) -> dict[TopicPartition, Any]:
        latest = type(OffsetSpec.latest())
        answers: dict[TopicPartition, Any] = {}
        for one, spec in request.items():
            future: Future[TopicPartition] = Future()
            offset = self._log.end(one.topic, one.partition) if isinstance(spec, latest) else 0
            future.set_result(TopicPartition(one.topic, one.partition, offset))
            answers[one] = future
        return answers


class MemoryOffsets:
    """A `group_offsets.StableOffsets`: no transaction is ever open."""

    def __init__(self, log: MemoryLog, group: str) -> None:
        self._log = log
        self._group = group

    def committed(self, partitions: Sequence[TopicPartition], seconds: float) -> list[TopicPartition]:  # noqa: ARG002  (the protocol's signature)
        found = []
        for one in partitions:
            committed = self._log.committed(self._group, (one.topic, one.partition))
            offset, metadata = committed if committed is not None else (_NOTHING_COMMITTED, "")
            found.append(TopicPartition(one.topic, one.partition, offset, metadata))
        return found


class MemoryMessage:
    """A record as a consumer gives it; there are no errors here."""

    def __init__(self, record: LogRecord) -> None:
        self._record = record

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return self._record.topic

    def partition(self) -> int:
        return self._record.partition

    def offset(self) -> int:
        return self._record.offset

    def timestamp(self) -> tuple[int, int]:
        return 1, self._record.timestamp

    def key(self) -> bytes | None:
        return self._record.key

    def value(self) -> bytes | None:
        return self._record.value

    def headers(self) -> Any:
        return self._record.raw_headers


class MemoryReader:
    """A consumer for `assign`, as a restore uses one."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self._positions: dict[Place, int] = {}

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self._positions = {(one.topic, one.partition): max(0, one.offset) for one in partitions}

    def consume(self, num_messages: int, timeout: float = 0) -> list[MemoryMessage]:  # noqa: ARG002  (a consumer's signature)
        found: list[LogRecord] = []
        for (topic, partition), position in self._positions.items():
            read = self._log.read(topic, partition, position, num_messages - len(found))
            self._positions[topic, partition] = position + len(read)
            found += read
        return [MemoryMessage(record) for record in found]

    def position(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        return [
            TopicPartition(one.topic, one.partition, self._positions[one.topic, one.partition]) for one in partitions
        ]

    def close(self) -> None:
        self._positions = {}
