"""An event of an operator, written to `<ns>.events`, which only who may step in may write to."""

from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaError, Message

from parkway.runtime.clients import plain_producer
from parkway.runtime.codec import event_codec
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.errors import ParkwayError
from parkway.schemas.events import Event

_DELIVERY: Final = 30.0  # seconds


class NotDeliveredError(ParkwayError):
    """Kafka did not take the event, or not in time."""


def send_event(
    settings: Settings,
    client: str,
    event: Event,
    key: bytes | None,
    partitions: Iterable[int],
    more: Mapping[str, str] | None = None,
) -> None:
    """Write it to these partitions, with `more` headers. Raises NotDeliveredError."""
    topic, codec = settings.topics.events, event_codec(settings)
    given: headers.Headers = [
        (headers.CONTENT_TYPE, codec.content_type),
        (headers.TYPE, event.type),
        (headers.HOPS, "0"),
        *(more or {}).items(),
    ]
    producer = plain_producer(settings, client)
    failures: list[str] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error.str())

    for partition in partitions:
        producer.produce(topic, codec.encode(event.to_json()), key, partition, headers=given, on_delivery=on_delivery)
    if producer.flush(_DELIVERY) or failures:
        raise NotDeliveredError(f"not delivered to {topic}: {failures[0] if failures else 'no answer'}")
