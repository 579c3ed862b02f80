"""What happens in an installation, as it is committed: requests, triggers, what actions send, outputs, dead letters."""

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final, Literal

from confluent_kafka import Message, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.cli.parked_topic import answered
from parkway.cli.request_state import action_of
from parkway.cli.sightings import Sighting, sighting
from parkway.cli.trace_words import dead_words, journal_words, short, words
from parkway.runtime.clients import manual_consumer
from parkway.runtime.codec import event_codec
from parkway.runtime.log_offsets import high_watermarks
from parkway.runtime.log_reader import Place
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import EventType
from parkway.schemas.journal import JournalError, JournalRecord
from parkway.schemas.topics import Topics

_BATCH: Final = 500
_WAIT: Final = 0.2
_PATIENCE: Final = 30.0  # topics that were just created have no leader yet

Kind = Literal["request", "trigger", "sent", "call", "output", "response", "dead"]


@dataclass(frozen=True, slots=True)
class Happening:
    """`root`: id of the event from outside that it goes back to. `when` in milliseconds since 1970 (UTC)."""

    when: int
    root: str
    kind: Kind
    text: str
    type: str = ""
    tokens: int = 0


class Feed:
    """Reads from where the topics ended when it was made. `run` is for a thread of its own, which owns the consumer."""

    def __init__(self, settings: Settings, admin: AdminClient, names: Iterable[str]) -> None:
        self._settings = settings
        self._codec = event_codec(settings)
        self._new: SimpleQueue[dict[Place, int]] = SimpleQueue()
        self._known: set[str] = set()
        self.follow(admin, names)

    def follow(self, admin: AdminClient, names: Iterable[str]) -> None:
        """Also these topics, from their ends on."""
        wanted = [name for name in names if name not in self._known]
        self._known.update(wanted)
        existing = admin.list_topics(timeout=10.0).topics
        places = [(name, number) for name in wanted if name in existing for number in existing[name].partitions]
        if places:
            self._new.put(answered(places[0][0], lambda: high_watermarks(admin, places), _PATIENCE))

    def run(self, tell: Callable[[Happening], None], stop: threading.Event) -> None:
        consumer = manual_consumer(self._settings, f"{self._settings.namespace}.dev")
        at: dict[Place, int] = {}
        try:
            while not stop.is_set():
                try:
                    at |= self._new.get_nowait()
                    consumer.assign([TopicPartition(*place, offset) for place, offset in at.items()])
                except Empty:
                    pass
                messages = [one for one in consumer.consume(_BATCH, _WAIT) if one.error() is None]
                for one in messages:
                    at[one.topic() or "", one.partition() or 0] = (one.offset() or 0) + 1
                found = [happening for one in messages for happening in self._happenings(one)]
                for happening in sorted(found, key=lambda one: one.when):
                    tell(happening)
        finally:
            consumer.close()

    def _happenings(self, message: Message) -> Iterator[Happening]:
        if message.topic() == self._settings.topics.journal:
            try:
                record = JournalRecord.from_json(message.value() or b"")
            except JournalError:
                return
            yield _call(record)
            return
        happening = _of(sighting(message, self._codec, self._settings.topics), self._settings.topics)
        if happening is not None:
            yield happening


def topics_to_follow(topics: Topics, names: Iterable[str]) -> list[str]:
    """Ours in which something happens; what is resumed is seen by what comes of it."""
    quiet = {topics.plans, topics.parked, topics.state}
    return [n for n in names if topics.is_ours(n) and n not in quiet and not n.startswith(topics.resume(""))]


def _call(record: JournalRecord) -> Happening:
    usage = {name: count for name, count in (record.usage or {}).items() if isinstance(count, int)}
    tokens = sum(usage.values())
    text = f"{record.action}: {journal_words(record, content=False)}, {record.ended_at - record.started_at} ms"
    return Happening(
        record.ended_at, record.root_id, "call", text + (f", {tokens} tokens" if tokens else ""), tokens=tokens
    )


def _of(one: Sighting, topics: Topics) -> Happening | None:
    root = one.text(headers.ROOT_ID) or one.event_id or one.place
    action = action_of(topics, one.topic)
    if one.topic == topics.dlq:
        if one.text(headers.ERROR_TYPE) == DlqReason.REPLAYED:
            return None
        about = f"{one.type} {short(dict(one.attributes))}" if one.type else ""
        return Happening(one.written, root, "dead", f"{dead_words(one)}  {about}".rstrip())
    if action is not None:
        return Happening(one.written, root, "trigger", f"{action} takes {one.type}")
    if one.topic == topics.requests:
        return Happening(one.written, root, "request", f"{words(one, content=True)}", one.type)
    text = words(one, content=True)
    if one.topic == topics.events:
        return Happening(one.written, root, "sent", f"{one.sender or 'router'} sends {text}")
    kind: Kind = "output" if one.type == EventType.OutputEvent else "response"
    return Happening(one.written, root, kind, text)
