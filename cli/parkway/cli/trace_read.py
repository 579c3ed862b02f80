"""The records of one run: what one event from outside has caused, all of it in one partition (DESIGN 3)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from parkway.cli.dlq_topic import Origin
from parkway.cli.parked_topic import ends_of
from parkway.cli.progress import progress
from parkway.cli.scan import begins_at, scan, stable_ends
from parkway.cli.sightings import Sighting, ours, sighting
from parkway.runtime.codec import EventCodec
from parkway.runtime.log_reader import Place, read_up_to
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.decimals import decimal
from parkway.schemas.journal import JournalError, JournalRecord
from parkway.schemas.topics import Topics

_READ_SECONDS: Final = 120.0
_SHOW_FROM: Final = 5_000  # a bar for fewer records would only flicker
_CLOCKS_MS: Final = 60_000  # timestamps are the producers'


@dataclass(frozen=True, slots=True)
class Root:
    """Where a run began. `written` in milliseconds since 1970 (UTC); `place`: of the record from outside."""

    id: str
    partition: int
    written: int
    place: str

    def in_partition(self, partitions: int) -> "Root":
        """Where its run goes on: partition s of a source goes to s mod P."""
        return replace(self, partition=self.partition % partitions)


@dataclass(slots=True)
class Run:
    """What was read of a run so far, in no order but that of each topic.

    `journal` may hold calls of another run that began with the same id.
    """

    root: Root
    records: list[Sighting] = field(default_factory=list)
    journal: list[JournalRecord] = field(default_factory=list)


def find_root(
    settings: Settings, admin: AdminClient, codec: EventCodec, places: list[Place], since: int | None, wanted: str
) -> Root | None:
    """Of the run that an event belongs to. `wanted`: an event's id, or the place of a record (topic/partition/offset).

    Reads until it is found. Raises LogReadError.
    """
    needle = wanted.encode()
    at = Origin.parse(wanted)
    if at is not None:
        return _root_at(settings, admin, codec, places, at)
    first = [place for place in places if place[0] == settings.topics.requests]
    for chosen in (first, [place for place in places if place not in first]):
        for message in scan(settings, admin, chosen, since, f"looking for {wanted}"):
            one = _about(message, needle, wanted, codec, settings.topics)
            if one is not None:
                return root_of(one)
    return None


def _root_at(settings: Settings, admin: AdminClient, codec: EventCodec, places: list[Place], at: Origin) -> Root | None:
    place = (at.topic, at.partition)
    if place not in places:
        return None
    # A consumer that is sent to an offset which is not there begins anywhere.
    begin, end = begins_at(settings, admin, [place], None)[place], ends_of(admin, [place])[place]
    if not begin <= at.offset < end:
        return None
    ends = {place: at.offset + 1}
    read = read_up_to(settings, f"{settings.namespace}.trace", {place: at.offset}, ends, _READ_SECONDS)
    return next((root_of(sighting(message, codec, settings.topics)) for message in read), None)


def _about(message: Message, needle: bytes, wanted: str, codec: EventCodec, topics: Topics) -> Sighting | None:
    try:
        given = headers.as_dict(message.headers() or [])  # type: ignore[arg-type]  # never the dict form on a consumer
    except (SystemError, UnicodeDecodeError):
        return None
    if given.get(headers.ROOT_ID) != needle and needle not in (message.value() or b""):
        return None
    one = sighting(message, codec, topics)
    return one if wanted in (one.event_id, one.request_id, one.text(headers.ROOT_ID)) else None


def root_of(one: Sighting) -> Root:
    """As the record's headers tell it; a record from outside is its own root."""
    topic, partition, offset, written = (one.text(headers.ROOT).rsplit(":", 3) + [""] * 4)[:4]
    began = decimal(written)
    if began is not None:
        return Root(one.text(headers.ROOT_ID), one.partition, began, f"{topic}/{partition}/{offset}")
    origin = one.text(headers.ORIGIN)
    return Root(one.event_id, one.partition, one.written, origin or one.place)


def _root_place(given: Mapping[str, bytes]) -> str:
    topic, partition, offset = (given.get(headers.ROOT, b"").decode("utf-8", "replace").rsplit(":", 3) + [""] * 3)[:3]
    return f"{topic}/{partition}/{offset}"


class RunReader:
    """Reads a run, and reads on what has come since. Keeps the run's own records. Raises LogReadError."""

    def __init__(
        self, settings: Settings, admin: AdminClient, codec: EventCodec, root: Root, topics: list[str]
    ) -> None:
        self._settings = settings
        self._admin = admin
        self._codec = codec
        self._topics = settings.topics
        self.places = [(topic, root.partition) for topic in topics]
        came_in = Origin.parse(root.place)
        if came_in is not None and (came_in.topic, came_in.partition) not in self.places:
            self.places.append((came_in.topic, came_in.partition))  # a source's
        self._next = begins_at(settings, admin, self.places, max(0, root.written - _CLOCKS_MS))
        self.run = Run(root)
        self.held = False  # is there more, behind an open transaction?

    def update(self) -> bool:
        """Read as far as no open transaction holds it back. Returns whether anything of the run has come."""
        there = ends_of(self._admin, self.places)
        ends = stable_ends(self._admin, self.places)
        self.held = any(end > ends[place] for place, end in there.items())
        before = len(self.run.records) + len(self.run.journal)
        total = sum(max(0, ends[place] - begin) for place, begin in self._next.items())
        with progress("reading", total if total > _SHOW_FROM else 0) as advance:
            for read, message in enumerate(self._messages(ends), 1):
                self._take(message)
                if read % 1000 == 0:
                    advance(1000)
        self._next = {place: max(begin, ends[place]) for place, begin in self._next.items()}
        return len(self.run.records) + len(self.run.journal) > before

    def _messages(self, ends: dict[Place, int]) -> Iterator[Message]:
        return read_up_to(self._settings, f"{self._settings.namespace}.trace", self._next, ends, _READ_SECONDS)

    def _take(self, message: Message) -> None:
        root = self.run.root
        if message.topic() == self._topics.journal:
            self._take_journal(message.value() or b"")
            return
        try:
            raw = headers.as_dict(message.headers() or [])  # type: ignore[arg-type]  # as above
        except (SystemError, UnicodeDecodeError):
            return
        given = ours(raw, message.topic() or "", self._topics)
        place = f"{message.topic()}/{message.partition()}/{message.offset()}"
        origin = given.get(headers.ORIGIN, b"").decode("utf-8", "replace")
        if root.place in (_root_place(given), place, origin):
            one = sighting(message, self._codec, self._topics)
            self.run.records.append(one)
            if not root.id:  # the record from outside had none
                self.run.root = replace(root, id=one.text(headers.ROOT_ID))

    def _take_journal(self, value: bytes) -> None:
        if self.run.root.id.encode() not in value:
            return
        try:
            record = JournalRecord.from_json(value)
        except JournalError:
            return  # of a later version
        if self.run.root.id in ("", record.root_id):
            self.run.journal.append(record)


def topics_of_runs(topics: Topics, existing: list[str]) -> list[str]:
    """Ours that records of a run stand in."""
    quiet = {topics.plans, topics.parked, topics.state}
    return sorted(name for name in existing if topics.is_ours(name) and name not in quiet)
