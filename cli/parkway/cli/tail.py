"""Prints what arrives in `outputs` and in the DLQ, for `parkway dev`."""

import threading

import typer
from confluent_kafka import Message, TopicPartition

from parkway.runtime.clients import manual_consumer
from parkway.runtime.settings import Settings
from parkway.schemas import headers

_LONGEST = 2_000


def tail_outputs(settings: Settings, stop: threading.Event) -> None:
    """Print new records, read_committed, until `stop` is set. Owns its consumer; runs on a thread."""
    topics = settings.topics
    consumer = manual_consumer(settings, f"{settings.namespace}.tail")
    try:
        everything = consumer.list_topics(timeout=10.0).topics
        partitions = [
            TopicPartition(topic, partition)
            for topic in (topics.outputs, topics.dlq)
            for partition in everything[topic].partitions
        ]
        for partition in partitions:
            _, partition.offset = consumer.get_watermark_offsets(partition, timeout=10.0)
        consumer.assign(partitions)
        while not stop.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                typer.echo(_line(message, dead=message.topic() == topics.dlq))
    finally:
        consumer.close()


def _line(message: Message, *, dead: bool) -> str:
    value = (message.value() or b"").decode("utf-8", "replace")
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
    if not dead:
        return f"output  {shown}"
    given = headers.as_dict(message.headers() or [])  # type: ignore[arg-type]  # never the dict form on a consumer
    reason, detail = (
        given.get(name, b"").decode("utf-8", "replace") for name in (headers.ERROR_TYPE, headers.ERROR_MESSAGE)
    )
    return f"DLQ     {reason}: {detail}  {shown}"
