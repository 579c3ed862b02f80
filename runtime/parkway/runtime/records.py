"""Kafka records as plain values: taken ones and ones to produce."""

from dataclasses import dataclass
from typing import cast

from confluent_kafka import Message

from parkway.schemas.headers import Headers


@dataclass(frozen=True, slots=True)
class Record:
    """A record to produce, to an explicit partition."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Incoming:
    """A record as it was taken. `timestamp` in milliseconds since 1970 (UTC).

    `unreadable_headers`: it has a header whose name is not UTF-8; then `headers` is empty.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    unreadable_headers: bool = False


def incoming(message: Message) -> Incoming:
    """Copy a message (one without an error) out of librdkafka."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    headers, unreadable = _headers(message)
    return Incoming(
        topic, partition, offset, message.timestamp()[1], message.key(), message.value(), headers, unreadable
    )


def _headers(message: Message) -> tuple[Headers, bool]:
    """confluent-kafka decodes header names as UTF-8 and raises SystemError for others; Java writes any bytes."""
    try:
        return cast("Headers", message.headers() or []), False
    except (SystemError, UnicodeDecodeError):
        return [], True
