"""Prints what arrives in `outputs` and in the DLQ, for `parkway dev`."""

import threading
import time
from typing import Final

import typer
from confluent_kafka import Message, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.runtime.clients import manual_consumer
from parkway.runtime.log_offsets import high_watermarks
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.errors import DlqReason

_LONGEST: Final = 2_000
_RETRY: Final = 0.1


def ends_of_outputs(admin: AdminClient, settings: Settings) -> dict[tuple[str, int], int]:
    """Where `tail_outputs` is to begin, so that it prints what comes from now on."""
    topics = settings.topics
    everything = admin.list_topics(timeout=10.0).topics
    asked = [(topic, number) for topic in (topics.outputs, topics.dlq) for number in everything[topic].partitions]
    while True:
        ends = high_watermarks(admin, asked)
        if ends is not None:
            return ends
        time.sleep(_RETRY)  # topics that were just created have no leader yet


def tail_outputs(settings: Settings, ends: dict[tuple[str, int], int], stop: threading.Event) -> None:
    """Print new records, read_committed, until `stop` is set. Owns its consumer; runs on a thread."""
    topics = settings.topics
    consumer = manual_consumer(settings, f"{settings.namespace}.tail")
    try:
        consumer.assign([TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()])
        while not stop.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None and not _is_marker(message):
                typer.echo(_line(message, dead=message.topic() == topics.dlq))
    finally:
        consumer.close()


def _is_marker(message: Message) -> bool:
    """Of a replay, in the DLQ."""
    given = headers.as_dict(message.headers() or [])  # type: ignore[arg-type]  # never the dict form on a consumer
    return given.get(headers.ERROR_TYPE) == DlqReason.REPLAYED.encode()


def _line(message: Message, *, dead: bool) -> str:
    value = (message.value() or b"").decode("utf-8", "replace")
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
    given = headers.as_dict(message.headers() or [])  # type: ignore[arg-type]  # never the dict form on a consumer
    reason, detail = (
        given.get(name, b"").decode("utf-8", "replace") for name in (headers.ERROR_TYPE, headers.ERROR_MESSAGE)
    )
    if not dead:
        root = given.get(headers.ROOT_ID, b"-").decode("utf-8", "replace")
        return f"output  of {root}: {shown}"
    return f"DLQ     {reason}: {detail}  {shown}"
