"""What came out: records of `<ns>.outputs` and `<ns>.dlq`, by the id of the event from outside that caused them."""

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaException, Message, TopicPartition

from parkway.runtime.clients import manual_consumer
from parkway.runtime.codec import event_codec
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.event import Event


@dataclass(frozen=True, slots=True)
class Result:
    """An event of the outputs topic: an `OutputEvent`, or the response to a request from outside."""

    caused_by: str  # id of the event from outside
    key: str | None
    event: Event


@dataclass(frozen=True, slots=True)
class Dead:
    """A record of the DLQ. `origin` is its topic/partition/offset, `type` one word."""

    caused_by: str
    origin: str
    type: str
    message: str


class Results:
    """Reads both topics from their beginning, committed records only. Belongs to one thread."""

    def __init__(self, settings: Settings, partitions: int) -> None:
        self.outputs: list[Result] = []
        self.dead: list[Dead] = []
        self._dlq = settings.topics.dlq
        self._codec = event_codec(settings)
        self._consumer = manual_consumer(settings, f"{settings.namespace}.test-results")
        topics = (settings.topics.outputs, self._dlq)
        self._consumer.assign([TopicPartition(topic, number, 0) for topic in topics for number in range(partitions)])

    def take(self, seconds: float) -> None:
        """Wait up to `seconds` for a record, and take all that are there."""
        first = self._consumer.consume(1, seconds)
        self._note([*first, *(self._consumer.consume(500, 0) if first else ())])

    def close(self) -> None:
        self._consumer.close()

    def _note(self, messages: Iterable[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is not None:
                if error.fatal():
                    raise KafkaException(error)
                continue  # it reconnects by itself
            given = headers.as_dict(message.headers() or [])  # type: ignore[arg-type]  # never the dict form here
            text = {name: value.decode("utf-8", "replace") for name, value in given.items()}
            root = text.get(headers.ROOT_ID, "")
            if message.topic() == self._dlq:
                origin, kind = text.get(headers.ORIGIN, ""), text.get(headers.ERROR_TYPE, "")
                self.dead.append(Dead(root, origin, kind, text.get(headers.ERROR_MESSAGE, "")))
            else:
                key = message.key()
                event = Event.parse(self._codec.decode(message.value() or b""))
                self.outputs.append(Result(root, key.decode("utf-8", "replace") if key is not None else None, event))
