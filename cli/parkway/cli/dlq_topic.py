"""`<ns>.dlq` from its beginning to its end, record by record: nothing but what is asked for is kept.

A marker says which records before it were put back (`parkway.schemas.replayed`). So what is still open is known only
after the topic was read once; of that a bit per record is kept.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Message, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.cli.parked_topic import answered, ends_of, partitions_of
from parkway.runtime.clients import manual_consumer
from parkway.runtime.dlq import MAX_VALUE_BYTES
from parkway.runtime.log_offsets import last_stable_offsets, log_beginnings
from parkway.runtime.log_reader import Place, read_up_to
from parkway.runtime.records import incoming
from parkway.runtime.settings import Settings
from parkway.schemas import headers, jsonio
from parkway.schemas.decimals import decimal
from parkway.schemas.errors import DlqReason
from parkway.schemas.headers import Headers
from parkway.schemas.replayed import ReplayMarker
from parkway.schemas.topics import Topics

_READ_SECONDS: Final = 120.0  # a dead process's transaction holds it back for 40 by default
_ASK_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record died."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @classmethod
    def parse(cls, text: str) -> "Origin | None":
        """Read `topic/partition/offset`; None when it is none."""
        topic, _, place = text.partition("/")
        partition, _, offset = place.partition("/")
        number, at = decimal(partition), decimal(offset.removeprefix("-"))
        if not topic or number is None or at is None:
            return None
        return cls(topic, number, -at if offset.startswith("-") else at)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record of the DLQ. `written` in milliseconds since 1970 (UTC)."""

    topic: str
    partition: int
    offset: int
    written: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    given: Mapping[str, bytes]

    @property
    def place(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def reason(self) -> str:
        return self.text(headers.ERROR_TYPE)

    @property
    def message(self) -> str:
        return self.text(headers.ERROR_MESSAGE)

    @property
    def attempts(self) -> int:
        return headers.number(self.given.get(headers.ATTEMPT), 1)

    @property
    def replays(self) -> int:
        """How often it was put back before it died again."""
        return headers.number(self.given.get(headers.REPLAYS), 0)

    @property
    def origin(self) -> Origin | None:
        return Origin.parse(self.text(headers.ORIGIN))

    @property
    def event_type(self) -> str | None:
        """By its header, or by its value where that can be read."""
        return self.text(headers.TYPE) or self._member("type")

    @property
    def event_id(self) -> str | None:
        return self._member("id")

    @property
    def truncated(self) -> bool:
        return self.value is not None and len(self.value) >= MAX_VALUE_BYTES and "(value truncated" in self.message

    def action(self, topics: Topics) -> str | None:
        """The action in whose hands it died."""
        origin = self.origin
        for prefix in (topics.action(""), topics.resume("")):
            if origin is not None and origin.topic.startswith(prefix):
                return origin.topic.removeprefix(prefix)
        return None

    def text(self, header: str) -> str:
        return self.given.get(header, b"").decode("utf-8", "replace")

    def _member(self, name: str) -> str | None:
        try:
            body = jsonio.loads(self.value or b"", max_depth=1000)
        except jsonio.JsonError:
            return None
        member = body.get(name) if isinstance(body, dict) else None
        return member if isinstance(member, str) else None


@dataclass(frozen=True, slots=True)
class Filters:
    """Which dead letters are meant. Empty: all. Times in milliseconds since 1970 (UTC)."""

    reasons: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    key: bytes | None = None
    event_id: str | None = None
    since: int | None = None
    until: int | None = None
    place: tuple[int, int] | None = None  # partition and offset

    def take(self, letter: DeadLetter, topics: Topics) -> bool:
        if self.place is not None and self.place != (letter.partition, letter.offset):
            return False
        if self.reasons and letter.reason not in self.reasons:
            return False
        if self.actions and letter.action(topics) not in self.actions:
            return False
        if (self.since is not None and letter.written < self.since) or (
            self.until is not None and letter.written > self.until
        ):
            return False
        if self.key is not None and letter.key != self.key:
            return False
        if self.types and letter.event_type not in self.types:
            return False
        return self.event_id is None or self.event_id in (letter.event_id, letter.text(headers.ROOT_ID))


class Replayed:
    """Which records were put back: a bit for each offset."""

    def __init__(self) -> None:
        self._bits: dict[int, bytearray] = {}
        self._begins: dict[int, int] = {}

    def add(self, partition: int, first: int, last: int) -> None:
        begin = self._begins.setdefault(partition, first)
        bits = self._bits.setdefault(partition, bytearray())
        if first < begin:
            bits[:0] = bytes((begin - first + 7) // 8)
            begin = self._begins[partition] = begin - (begin - first + 7) // 8 * 8
        if last - begin >= len(bits) * 8:
            bits.extend(bytes((last - begin) // 8 + 1 - len(bits)))
        for offset in range(first - begin, last - begin + 1):
            bits[offset // 8] |= 1 << offset % 8

    def __contains__(self, place: tuple[int, int]) -> bool:
        partition, offset = place
        at = offset - self._begins.get(partition, 0)
        bits = self._bits.get(partition, b"")
        return 0 <= at < len(bits) * 8 and bool(bits[at // 8] >> at % 8 & 1)


class DlqTopic:
    """The DLQ as it was when this was made, from `since` on (milliseconds since 1970).

    It ends before the first open transaction: a process that died with one holds up no list.

    Raises TopologyError for a topic that is missing, LogReadError for one that cannot be read to its end.
    """

    def __init__(self, settings: Settings, admin: AdminClient, *, since: int | None = None) -> None:
        self._settings = settings
        self._admin = admin
        self.topic = settings.topics.dlq
        self._client_id = f"{settings.namespace}.dlq"
        self._places = [(self.topic, number) for number in partitions_of(admin, settings, self.topic)]
        self.ends = answered(self.topic, lambda: last_stable_offsets(admin, self._places))
        self._begins = answered(self.topic, lambda: log_beginnings(admin, self._places))
        if since is not None:
            self._begins = self._begun_at(since)
        self.replayed = Replayed()
        self._markers_to: dict[Place, int] = dict(self._begins)

    @property
    def span(self) -> int:
        """Offsets from beginning to end: about as many records."""
        return sum(max(0, self.ends[place] - begin) for place, begin in self._begins.items())

    def read_markers(self, *, wait: bool = False) -> None:
        """Read which records were put back; only what is new since the last call.

        `wait`: up to the end that the topic has now, however long open transactions hold that back.
        """
        ends = ends_of(self._admin, self._places) if wait else self.ends
        for message in read_up_to(self._settings, self._client_id, self._markers_to, ends, _READ_SECONDS):
            self._mark(message)
        self._markers_to = ends

    def letters(self, filters: Filters, *, only_open: bool = True) -> Iterator[DeadLetter]:
        """The dead letters that are meant, those of a partition in order; `only_open`: without those put back."""
        for message in read_up_to(self._settings, self._client_id, self._begins, self.ends, _READ_SECONDS):
            letter = dead_letter_of(message)
            if letter.reason == DlqReason.REPLAYED or not filters.take(letter, self._settings.topics):
                continue
            if not only_open or (letter.partition, letter.offset) not in self.replayed:
                yield letter

    def one(self, partition: int, offset: int) -> DeadLetter | None:
        """The record at a place, if it is still there and no marker."""
        place = (self.topic, partition)
        if place not in self.ends or not self._begins[place] <= offset < self.ends[place]:
            return None
        read = read_up_to(self._settings, self._client_id, {place: offset}, {place: offset + 1}, _READ_SECONDS)
        letter = next((dead_letter_of(message) for message in read), None)
        return letter if letter is not None and letter.reason != DlqReason.REPLAYED else None

    def _mark(self, message: Message) -> None:
        given = headers.as_dict(message.headers() or [])  # type: ignore[arg-type]  # never the dict form on a consumer
        partition = message.partition()
        assert partition is not None
        if given.get(headers.ERROR_TYPE) == DlqReason.REPLAYED.encode():
            for first, last in ReplayMarker.from_json(message.value() or b"").replayed:
                self.replayed.add(partition, first, last)

    def _begun_at(self, since: int) -> dict[Place, int]:
        consumer = manual_consumer(self._settings, self._client_id)
        try:
            asked = [TopicPartition(topic, number, since) for topic, number in self._places]
            found = consumer.offsets_for_times(asked, timeout=_ASK_SECONDS)
        finally:
            consumer.close()
        return {
            (one.topic, one.partition): one.offset if one.offset >= 0 else self.ends[one.topic, one.partition]
            for one in found
        }


def dead_letter_of(message: Message) -> DeadLetter:
    """A record of the DLQ."""
    record = incoming(message)
    return DeadLetter(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        record.headers,
        headers.as_dict(record.headers),
    )


def milliseconds_ago(seconds: float) -> int:
    """That time, in milliseconds since 1970."""
    return int((time.time() - seconds) * 1000)
