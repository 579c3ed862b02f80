"""The records in which a request id stands: what `parkway request show` is made of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from parkway.cli.parked_topic import ParkedMessage
from parkway.cli.scan import scan
from parkway.runtime.codec import EventCodec
from parkway.runtime.log_reader import Place
from parkway.runtime.records import incoming
from parkway.runtime.settings import Settings
from parkway.schemas import headers, jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import REQUEST_TYPES, EventType
from parkway.schemas.format_error import FormatError
from parkway.schemas.parked import ParkedError, split_parked_key
from parkway.schemas.topics import Topics

RESPONSES = frozenset(
    {
        EventType.ChatResponseEvent,
        EventType.ToolResponseEvent,
        EventType.ContextRetrievalResponseEvent,
        EventType.DecisionResponseEvent,
    }
)

# What the router writes anew on a record that came from outside, and on one in the DLQ.
_LINEAGE: Final = frozenset(
    {headers.EXTERNAL, headers.ROOT, headers.ROOT_ID, headers.PARENT, headers.HOPS}
    | {headers.ORIGIN, headers.ATTEMPT, headers.ERROR_TYPE, headers.ERROR_MESSAGE, headers.ERROR_TRACEBACK}
)
_DEAD: Final = frozenset(
    {headers.ORIGIN, headers.ATTEMPT, headers.ERROR_TYPE, headers.ERROR_MESSAGE, headers.ERROR_TRACEBACK}
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A record. `written` in milliseconds since 1970 (UTC)."""

    topic: str
    partition: int
    offset: int
    written: int
    type: str
    event_id: str
    attributes: Mapping[str, Any]
    given: Mapping[str, bytes]
    upstream: str | None
    sender: str | None  # the action that sent it
    bytes: int

    @property
    def place(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def request_id(self) -> str | None:
        """Of a response: of what it answers."""
        found = self.attributes.get("request_id")
        return found if isinstance(found, str) else None

    @property
    def parent(self) -> tuple[str, str] | None:
        """The parked request on whose behalf it was sent: its id, and its action."""
        try:
            key = split_parked_key(self.given[headers.PARENT])
        except (KeyError, ParkedError):
            return None
        return key.subject, key.action

    def text(self, header: str) -> str:
        return self.given.get(header, b"").decode("utf-8", "replace")


@dataclass(slots=True)
class Found:
    """Everything that was seen of one id."""

    requests: list[Sighting] = field(default_factory=list)  # the event itself, where it came in or was sent
    handled: list[Sighting] = field(default_factory=list)  # in action topics
    responses: list[Sighting] = field(default_factory=list)
    sent: list[Sighting] = field(default_factory=list)  # in its name, by the actions that handled it
    children: list[Sighting] = field(default_factory=list)  # requests on its behalf, in action topics
    answers: list[Sighting] = field(default_factory=list)  # to those, on their way to it
    dead: list[Sighting] = field(default_factory=list)
    parked: dict[bytes, ParkedMessage] = field(default_factory=dict)  # what is live


def look_for(
    settings: Settings, admin: AdminClient, codec: EventCodec, places: Sequence[Place], since: int | None, wanted: str
) -> Found:
    """Read these partitions for an id. Raises LogReadError."""
    topics = settings.topics
    found = Found()
    needle = wanted.encode()
    for message in scan(settings, admin, places, since, f"looking for {wanted}"):
        if not _has(message, needle):
            continue
        _file(found, sighting(message, codec, topics), topics, wanted)
    return found


def _has(message: Message, needle: bytes) -> bool:
    if needle in (message.value() or b""):
        return True
    try:
        given: Any = message.headers()
    except (SystemError, UnicodeDecodeError):  # a name that is not UTF-8
        return False
    for _, value in given or ():  # noqa: SIM110  of every record there is: `any` takes twice as long
        if value is not None and needle in value:
            return True
    return False


def ours(given: Mapping[str, bytes], topic: str, topics: Topics) -> Mapping[str, bytes]:
    """The headers that say where a record comes from, without those that a stranger wrote.

    Anybody who may write to `requests` can name another's run as its root.
    """
    if not _from_outside(given, topic, topics):
        return given
    believed = _DEAD if topic == topics.dlq else frozenset()
    return {name: value for name, value in given.items() if name not in _LINEAGE or name in believed}


def _from_outside(given: Mapping[str, bytes], topic: str, topics: Topics) -> bool:
    """Whether a producer wrote it: to `requests`, to a topic of its own; or it died there."""
    if topic == topics.dlq:
        topic = given.get(headers.ORIGIN, b"").decode("utf-8", "replace").rsplit("/", 2)[0]
    return topic == topics.requests or not topics.is_ours(topic)


def sighting(message: Message, codec: EventCodec, topics: Topics) -> Sighting:
    """A record as an event, as far as it is one; a dead letter's value may be anything."""
    record = incoming(message)
    sent = headers.as_dict(record.headers)
    stranger = _from_outside(sent, record.topic, topics)
    given = ours(sent, record.topic, topics)
    try:
        body = jsonio.loads(codec.decode(record.value or b""), max_depth=1000)
    except (jsonio.JsonError, FormatError):
        body = None
    if not isinstance(body, dict):
        body = {}
    attributes = body.get("attributes")
    return Sighting(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        str(body.get("type") or given.get(headers.TYPE, b"").decode("utf-8", "replace")),
        str(body.get("id") or ""),
        attributes if isinstance(attributes, dict) else {},
        given,
        _text(body.get("upstreamEventId")) if not stranger else None,
        _text(body.get("upstreamActionName")) if not stranger else None,
        len(record.value or b""),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _file(found: Found, one: Sighting, topics: Topics, wanted: str) -> None:
    on_behalf = one.parent is not None and one.parent[0] == wanted
    if one.topic == topics.dlq:
        if one.event_id == wanted and one.text(headers.ERROR_TYPE) != DlqReason.REPLAYED:
            found.dead.append(one)
    elif one.topic.startswith(topics.action("")) or (
        one.topic.startswith(topics.resume("")) and one.type in REQUEST_TYPES
    ):
        if one.event_id == wanted:
            found.handled.append(one)
        elif on_behalf:
            found.children.append(one)
    elif one.topic.startswith(topics.resume("")):
        if on_behalf and one.type in RESPONSES:
            found.answers.append(one)
    elif one.event_id == wanted:
        found.requests.append(one)
    elif one.type in RESPONSES and one.request_id == wanted:
        found.responses.append(one)
    elif one.upstream == wanted:
        found.sent.append(one)


def live_parked(messages: Iterator[ParkedMessage], wanted: str) -> dict[bytes, ParkedMessage]:
    """What is parked for an id: under its own keys, and what its tool requests have parked."""
    needle = wanted.encode()
    live: dict[bytes, ParkedMessage] = {}
    for message in messages:
        if message.value is None:
            live.pop(message.raw_key, None)
        elif needle in message.raw_key or needle in message.value:
            live[message.raw_key] = message
    return live
