"""Reading partitions of a compacted topic of ours to their ends, for a restore (restore.py says which ends).

Probed on Kafka 4.4 with librdkafka 2.16: a position passes control records and aborted ones; an empty partition gives
no position but an end-of-partition event with its offset.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from parkway.runtime.logs import get_logger


class RestoreCancelledError(Exception):
    """The assignment ended while its restore ran."""


def check(cancelled: threading.Event) -> None:
    """Raise RestoreCancelledError once the assignment has ended."""
    if cancelled.is_set():
        raise RestoreCancelledError


def read_to_ends(
    open_reader: Callable[..., Consumer],
    topic: str,
    places: Mapping[int, tuple[int, int]],
    take: Callable[[Sequence[Message]], None],
    cancelled: threading.Event,
) -> int:
    """Read `read_committed`, from the first to the second offset of each partition, however long that is held back.

    `open_reader` gives a consumer for `assign`, `take` gets the records as they come. Returns how many there were.
    Raises RestoreCancelledError.
    """
    left = {partition: end for partition, (start, end) in places.items() if start < end}
    read = 0
    if not left:
        return read
    consumer = open_reader(**{"enable.partition.eof": True, "fetch.wait.max.ms": 10, "queued.min.messages": 100_000})
    try:
        consumer.assign([TopicPartition(topic, partition, places[partition][0]) for partition in left])
        while left:
            check(cancelled)
            messages = consumer.consume(5_000, 0.05)
            read += len(messages)
            records = [message for message in messages if message.error() is None]
            take(records)
            if len(records) < len(messages):
                for partition, offset in _ends(messages):
                    if partition in left and offset >= left[partition]:
                        del left[partition]
            for position in consumer.position([TopicPartition(topic, partition) for partition in left]):
                if position.offset >= left[position.partition]:
                    del left[position.partition]
    finally:
        consumer.close()
    return read


def _ends(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Of partitions that were read to their ends, (partition, offset); what else went wrong is logged."""
    for message in messages:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is None:
            continue
        if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001  librdkafka's local codes
            topic, name = message.topic(), error.name()
            get_logger("restore").warning("restore_read_error", topic=topic, code=name, detail=error.str())
        elif partition is not None and offset is not None:
            yield partition, offset
