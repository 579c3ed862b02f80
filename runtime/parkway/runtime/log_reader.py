"""Read partitions up to an offset that is known beforehand, as commands do.

Probed on Kafka 4.4 with librdkafka 2.16: a position passes control records and aborted ones; an empty partition, or one
of which nothing is left to read, gives no position but an end-of-partition event with its offset.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from parkway.runtime.clients import check_consumer_error, manual_consumer
from parkway.runtime.settings import Settings
from parkway.schemas.errors import ParkwayError

Place = tuple[str, int]  # topic and partition

_BATCH: Final = 5_000
_PAUSE: Final = 0.1


class LogReadError(ParkwayError):
    """A partition that cannot be read to where it is wanted; the message says how far it was."""


def read_up_to(
    settings: Settings, client_id: str, begins: Mapping[Place, int], ends: Mapping[Place, int], seconds: float
) -> Iterator[Message]:
    """The committed records in [begin, end) of each partition of `begins`, those of a partition in order.

    Waits for open transactions. Raises LogReadError when nothing comes for `seconds`, or may not be read.
    """
    left = {place: ends[place] for place, begin in begins.items() if begin < ends[place]}
    if not left:
        return
    came = time.monotonic()
    consumer = manual_consumer(settings, client_id, **{"enable.partition.eof": True, "fetch.wait.max.ms": 10})
    try:
        consumer.assign([TopicPartition(topic, partition, begins[topic, partition]) for topic, partition in left])
        while left:
            if time.monotonic() - came > seconds:
                (topic, partition), end = next(iter(left.items()))
                raise LogReadError(
                    f"{topic} partition {partition} cannot be read up to offset {end} within {seconds:g} s: "
                    "a transaction is open, or the brokers are slow; try again"
                )
            for message in consumer.consume(_BATCH, _PAUSE):
                yield from _within(message, left)
                came = time.monotonic()
            for one in consumer.position([TopicPartition(*place) for place in left]):
                if one.offset >= left[one.topic, one.partition]:
                    del left[one.topic, one.partition]
    finally:
        consumer.close()


def _within(message: Message, left: dict[Place, int]) -> Iterator[Message]:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    error = message.error()
    if topic is None or partition is None or offset is None:
        if error is not None:
            _check(error)
        return
    end = left.get((topic, partition), -1)
    if error is None:
        if offset < end:
            yield message
    elif error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001  librdkafka's local codes
        _check(error)
    elif offset >= end >= 0:
        del left[topic, partition]


def _check(error: KafkaError) -> None:
    try:
        check_consumer_error(error)
    except KafkaException:
        raise LogReadError(f"cannot be read: {error.str()}") from None
