"""Read-committed reading: what a consumer of Parkway's topics does."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from examples.github_triage.demo.cluster import Place
from examples.github_triage.demo.errors import DemoError

from parkway.schemas.headers import as_dict


def open_reader(bootstrap_servers: str, places: Iterable[Place]) -> Consumer:
    """A consumer that reads these partitions from their beginning and sees committed records only."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "client.id": "demo-reader",
            "group.id": "demo-reader",  # required, and never used: partitions are assigned, nothing is committed
            "isolation.level": "read_committed",  # else records of aborted transactions are read as well
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
            "log_level": 2,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in places])
    return consumer


def read_to(bootstrap_servers: str, ends: Mapping[Place, int], *, seconds: float) -> list[Message]:
    """All committed records below these high watermarks. Raises DemoError when an open transaction hides some."""
    messages: list[Message] = []
    consumer = open_reader(bootstrap_servers, ends)
    missing = set(ends)
    deadline = time.monotonic() + seconds
    try:
        while missing:
            if time.monotonic() > deadline:
                raise DemoError(f"not read to the end within {seconds:.0f} s: {sorted(missing)}")
            for message in consumer.consume(500, 0.2):
                error = message.error()
                if error is None:
                    messages.append(message)
                elif error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001  (the library's only name for it)
                    raise KafkaException(error)
                elif (message.offset() or 0) >= ends[place_of(message)]:  # past the control records as well
                    missing.discard(place_of(message))
    finally:
        consumer.close()
    return messages


def place_of(message: Message) -> Place:
    topic, partition = message.topic(), message.partition()
    assert topic is not None
    assert partition is not None
    return topic, partition


def body_of(message: Message) -> dict[str, Any]:
    """The event of a record."""
    body: dict[str, Any] = json.loads(message.value() or b"{}")
    return body


def header(message: Message, name: str) -> str:
    """A header's text; empty when there is none."""
    given = as_dict(message.headers() or [])  # type: ignore[arg-type]  # never the dict form on a consumer
    return given.get(name, b"").decode()


def seconds_of(message: Message) -> float:
    """When its producer wrote it, in seconds since 1970."""
    return float(message.timestamp()[1]) / 1000
