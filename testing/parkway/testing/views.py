"""What a test looks at: the records of the log as values of Python."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from parkway.runtime.codec import EventCodec
from parkway.schemas import headers, jsonio
from parkway.schemas.event_types import EventType
from parkway.schemas.events import Event, EventError
from parkway.schemas.format_error import FormatError
from parkway.schemas.journal import JournalRecord
from parkway.schemas.parked import ParkedKind, ParkedRecord, split_parked_key
from parkway.schemas.state import StateRecord
from parkway.schemas.topics import Topics
from parkway.testing.log_record import LogRecord


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record of the DLQ. `reason` is one of `errors.DlqReason`, `origin` its place: topic/partition/offset."""

    reason: str
    message: str
    origin: str
    attempts: int
    key: str | None
    event: dict[str, Any] | None  # None: it is no event
    record: LogRecord


class Views:
    """Reads records, all of them or what was written since."""

    def __init__(self, topics: Topics, codec: EventCodec, records: Sequence[LogRecord]) -> None:
        self._topics = topics
        self._codec = codec
        self.records = records

    def of(self, topic: str) -> list[LogRecord]:
        return [record for record in self.records if record.topic == topic]

    def events(self, topic: str) -> list[Event]:
        return [event for record in self.of(topic) if (event := self.event(record)) is not None]

    def outputs(self) -> list[tuple[LogRecord, Any]]:
        """What actions put out by `ctx.output(value)`: the values."""
        return [
            (record, event.attributes["output"])
            for record in self.of(self._topics.outputs)
            if (event := self.event(record)) is not None and event.type == EventType.OutputEvent
        ]

    def responses(self) -> list[Event]:
        """The terminal responses to requests from outside, wherever they went."""
        return [
            event
            for record in self.records
            if self._takes_responses(record.topic)
            if (event := self.event(record)) is not None and event.type in _RESPONSES
        ]

    def dlq(self) -> list[DeadLetter]:
        return [self._dead_letter(record) for record in self.of(self._topics.dlq)]

    def parked(self) -> list[ParkedRecord]:
        """Requests that wait for something, in the order in which they were parked."""
        live = newest(self.of(self._topics.parked))
        return [
            ParkedRecord.from_json(record.value)
            for record in live.values()
            if record.value is not None and split_parked_key(record.key or b"").kind is ParkedKind.REQUEST
            if jsonio.loads(record.value).get("kind", "request") == "request"
        ]

    def state(self) -> dict[str, Any]:
        """`ctx.state` as of now: `<action>/<record key>` -> what is remembered."""
        return {
            (record.key or b"").decode("utf-8", "replace"): StateRecord.from_json(record.value).state
            for record in newest(self.of(self._topics.state)).values()
            if record.value is not None
        }

    def journal(self) -> list[JournalRecord]:
        return [JournalRecord.from_json(record.value or b"") for record in self.of(self._topics.journal)]

    def event(self, record: LogRecord) -> Event | None:
        """The event in its typed form; a plain one where its attributes do not fit; None for what is no event."""
        body = self.body(record)
        if body is None:
            return None
        try:
            return Event.parse(body)
        except EventError:
            try:
                return Event.from_dict(body)
            except EventError:
                return None

    def body(self, record: LogRecord) -> dict[str, Any] | None:
        """Its JSON object."""
        try:
            found = jsonio.loads(self._codec.decode(record.value or b""))
        except (jsonio.JsonError, FormatError):
            return None
        return found if isinstance(found, dict) else None

    def _takes_responses(self, topic: str) -> bool:
        return topic == self._topics.outputs or not self._topics.is_ours(topic)

    def _dead_letter(self, record: LogRecord) -> DeadLetter:
        given = record.headers
        return DeadLetter(
            given.get(headers.ERROR_TYPE, b"").decode(),
            given.get(headers.ERROR_MESSAGE, b"").decode("utf-8", "replace"),
            given.get(headers.ORIGIN, b"").decode(),
            headers.number(given.get(headers.ATTEMPT), 1),
            key_text(record.key),
            self.body(record),
            record,
        )


_RESPONSES = frozenset(
    {
        EventType.ChatResponseEvent,
        EventType.ToolResponseEvent,
        EventType.ContextRetrievalResponseEvent,
        EventType.DecisionResponseEvent,
    }
)


def newest(records: Iterable[LogRecord]) -> dict[bytes, LogRecord]:
    """What compaction would leave: the newest record of each key, in the order of the oldest that is still there."""
    found: dict[bytes, LogRecord] = {}
    for record in records:
        key = record.key or b""
        if record.value is None:
            found.pop(key, None)
        else:
            found[key] = record
    return found


def key_text(key: bytes | None) -> str | None:
    """A record key for people: text, or base64 of what is none."""
    if key is None:
        return None
    try:
        return key.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(key).decode()}"
