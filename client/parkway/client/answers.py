"""Records of `outputs`, of a reply topic and of the DLQ, as far as they say whose answer they are.

Everything that a record from outside causes names it in `parkway-root`: topic, partition, offset, timestamp. A producer
knows these of its own record from the delivery report, so an answer is never taken for another's, whatever the ids are:
that of an earlier request under the same id has another root.
"""

from dataclasses import dataclass
from typing import Final

from confluent_kafka import Message

from parkway.runtime.records import incoming
from parkway.schemas import headers
from parkway.schemas.decimals import decimal
from parkway.schemas.topics import Topics

Root = tuple[int, int]  # partition and offset in `requests`

_ROOT_PARTS: Final = 4


@dataclass(frozen=True, slots=True)
class Answer:
    """A record that was caused by the record `root` of `requests`. `origin`: of a dead letter, the topic it died in."""

    root: Root
    root_id: bytes  # the event's id; empty where only the place is known
    topic: str
    partition: int
    offset: int
    value: bytes
    headers: dict[str, bytes]
    origin: str | None = None

    @property
    def place(self) -> str:
        """`topic/partition/offset`."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    def text(self, header: str) -> str:
        """A header as text; empty when it is absent."""
        return self.headers.get(header, b"").decode("utf-8", "replace")


def answer_of(message: Message, topics: Topics) -> Answer | None:
    """What `message` (one without an error) answers; None when it was not caused by a record of `requests`.

    Of a dead letter that the router itself refused only its origin counts: its other headers are the producer's.
    """
    record = incoming(message)
    given = headers.as_dict(record.headers)
    origin = None
    root_id = given.get(headers.ROOT_ID, b"")
    if record.topic == topics.dlq:
        origin, separator, place = given.get(headers.ORIGIN, b"").decode("utf-8", "replace").partition("/")
        if not separator:
            return None
        if origin == topics.requests:
            root, root_id = _place(place.split("/")), b""
        else:
            root = _root(given, topics)
    else:
        root = _root(given, topics)
    if root is None:
        return None
    return Answer(root, root_id, record.topic, record.partition, record.offset, record.value or b"", given, origin)


def _root(given: dict[str, bytes], topics: Topics) -> Root | None:
    parts = given.get(headers.ROOT, b"").decode("utf-8", "replace").split(":")
    if len(parts) != _ROOT_PARTS or parts[0] != topics.requests:
        return None
    return _place(parts[1:3])


def _place(parts: list[str]) -> Root | None:
    numbers = [decimal(part) for part in parts]
    if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
        return None
    return numbers[0], numbers[1]
