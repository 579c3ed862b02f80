"""Kafka records as plain values: taken ones and ones to produce."""

from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Message

from parkway.schemas.headers import Headers, as_dict

# Values: nobody changes one once it is made. Not frozen, as that makes the construction four times as dear, and a
# router constructs two for every event.


ANY_PARTITION: Final = -1  # librdkafka's: its partitioner decides by the key


@dataclass(slots=True)
class Record:
    """A record to produce, to an explicit partition; ANY_PARTITION only for a topic of somebody else's (a sink)."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(slots=True)
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
    _by_name: dict[str, bytes] | None = field(default=None, init=False, repr=False, compare=False)

    def headers_by_name(self) -> dict[str, bytes]:
        """As `headers.as_dict`, looked at once. Not to be changed."""
        found = self._by_name
        if found is None:
            found = self._by_name = as_dict(self.headers)
        return found


def incoming(message: Message) -> Incoming:
    """Copy a message (one without an error) out of librdkafka."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    unreadable = False
    headers: Any
    try:
        headers = message.headers() or []
    except (SystemError, UnicodeDecodeError):  # for names that are not UTF-8; Java writes any bytes
        headers, unreadable = [], True
    return Incoming(
        topic, partition, offset, message.timestamp()[1], message.key(), message.value(), headers, unreadable
    )
