"""The way in: an untrusted record of `<ns>.requests`, or of a source, becomes an event, or is refused (DESIGN 3).

It comes in as our envelope, a CloudEvent or Avro (`parkway.schemas.formats`). What comes out is a fresh encoding of
our envelope: lineage and headers of ours are made here, never taken over. It changes no number and adds no attribute;
of repeated keys the last counts, in the match and in what is written.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from parkway.router import foreign
from parkway.runtime.codec import EventCodec
from parkway.runtime.records import Incoming
from parkway.schemas import formats, headers, jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import BUILT_IN_TYPES, EventType
from parkway.schemas.format_error import FormatError
from parkway.schemas.headers import Headers
from parkway.schemas.json_form import kind_of
from parkway.schemas.limits import Limits
from parkway.schemas.plan import MAX_TYPE_CHARS, Plan, SourcePlan
from parkway.schemas.tokens import is_secret

_ORIGINS: Final = uuid.UUID("5a1c94f2-7c0b-4a53-9c0e-6c8f7f0f3b1d")  # ids made of a record's place
_ID: Final = re.compile(r"[A-Za-z0-9._:@-]{1,128}")
_MAX_BAGGAGE: Final = 64 * 1024
_KNOWN_FIELDS: Final = frozenset({"id", "type", "attributes", "attachments", "upstreamEventId", "upstreamActionName"})


@dataclass(frozen=True, slots=True)
class Admitted:
    """An event that may go on: decoded, in its fresh encoding, with the headers that travel with it."""

    event: Mapping[str, Any]
    value: bytes
    headers: Headers


class RefusedError(Exception):
    """The record goes to the DLQ with this reason."""

    def __init__(self, reason: DlqReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def admit(record: Incoming, plan: Plan, codec: EventCodec, source: SourcePlan | None = None) -> Admitted:
    """Check a record from outside: of `requests`, or of the topic of a source.

    Raises RefusedError, and RegistryUnavailableError of a codec with a registry.
    """
    given = headers.as_dict(record.headers)
    if record.unreadable_headers:
        raise RefusedError(DlqReason.INVALID_HEADER, "a header name is not UTF-8")
    _check_baggage(record, given)
    if record.value is None:
        raise RefusedError(DlqReason.INVALID_EVENT, "the record has no value")
    if len(record.value) > plan.max_event_bytes:
        message = f"{len(record.value)} bytes, the limit is {plan.max_event_bytes} (max_event_bytes)"
        raise RefusedError(DlqReason.TOO_LARGE, message)
    try:
        event, written = _read(record.value, given, plan.limits, codec, source)
    except (FormatError, jsonio.JsonError) as error:
        raise RefusedError(error.reason, str(error)) from None
    if event.get("id") is None:
        event["id"] = written["id"] = str(uuid.uuid4()) if source is None else origin_id(record)
    for lineage in ("upstreamEventId", "upstreamActionName"):
        event.pop(lineage, None)
        written.pop(lineage, None)
    event.setdefault("attributes", {})
    written.setdefault("attributes", {})
    _check_envelope(event)
    _check_type(event["type"], plan, source)
    made: Headers = [(headers.CONTENT_TYPE, codec.content_type), *_headers(record, event, given, plan)]
    return Admitted(event, codec.encode(jsonio.dumps(written)), made)


def origin_id(record: Incoming) -> str:
    """The id of an event whose record has none: the same one each time that this record is read."""
    return str(uuid.uuid5(_ORIGINS, f"{record.topic}:{record.partition}:{record.offset}:{record.timestamp}"))


def _read(
    value: bytes, given: Mapping[str, bytes], limits: Limits, codec: EventCodec, source: SourcePlan | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The event to match, and the same in a form that is written with every number as it came."""
    if source is not None and source.format in {"json", "avro"}:
        return foreign.attributes_event(value, source, codec, limits)
    text = formats.envelope(value, given, codec.avro) if source is None else foreign.event(value, given, source, codec)
    event = jsonio.loads_limited(text, limits)
    if not isinstance(event, dict):
        raise FormatError(DlqReason.INVALID_EVENT, f"expected a JSON object, got {kind_of(event)}")
    return event, jsonio.loads_for_writing(text, event)


def _check_baggage(record: Incoming, given: Mapping[str, bytes]) -> None:
    """Key and headers go along on every hop, beside a value that may be as large as a topic takes."""
    kept = sum(len(content) for name, content in given.items() if name in headers.KEPT_FROM_OUTSIDE)
    for what, size in (("the key has", len(record.key or b"")), ("the headers that are kept have", kept)):
        if size > _MAX_BAGGAGE:
            raise RefusedError(DlqReason.TOO_LARGE, f"{what} {size} bytes, the limit is {_MAX_BAGGAGE}")


def _check_envelope(event: Mapping[str, Any]) -> None:
    unknown = event.keys() - _KNOWN_FIELDS
    if unknown:
        raise RefusedError(
            DlqReason.INVALID_EVENT,
            f"unknown field {min(unknown)!r}: an event has id, type, attributes, attachments",
        )
    event_type = event.get("type")
    if not isinstance(event_type, str) or not event_type:
        raise RefusedError(DlqReason.INVALID_EVENT, "type: expected a string that is not empty")
    if len(event_type) > MAX_TYPE_CHARS:
        raise RefusedError(DlqReason.INVALID_EVENT, f"type: longer than {MAX_TYPE_CHARS} characters")
    if not isinstance(event["id"], str):
        raise RefusedError(DlqReason.INVALID_EVENT, f"id: expected a string, got {kind_of(event['id'])}")
    if not _ID.fullmatch(event["id"]):
        raise RefusedError(
            DlqReason.BAD_ID, f"id {event['id'][:60]!r}: use 1 to 128 characters of A-Z a-z 0-9 . _ : @ -"
        )
    for name in ("attributes", "attachments"):
        if not isinstance(event.get(name, {}), dict):
            raise RefusedError(DlqReason.INVALID_EVENT, f"{name}: expected an object, got {kind_of(event[name])}")


def _check_type(event_type: str, plan: Plan, source: SourcePlan | None) -> None:
    if event_type in plan.accepts or (source is not None and event_type == source.type):
        return
    if event_type == EventType.CancelRequestEvent and plan.cancellable:
        return
    if event_type == EventType.ApprovalResponseEvent and plan.approvable:
        return
    if event_type.startswith("_") and event_type not in BUILT_IN_TYPES:
        raise RefusedError(DlqReason.UNKNOWN_TYPE, f"type {event_type[:100]!r} is no built-in type")
    way_out = "an agent adds a type by external=True on its action"
    if source is not None:
        way_out += f", or by the type of its Source({source.topic!r})"
    raise RefusedError(
        DlqReason.FORBIDDEN_TYPE,
        f"type {event_type[:100]!r} is not accepted from outside; "
        f"the plan accepts {', '.join(plan.accepts)} ({way_out})",
    )


def _headers(record: Incoming, event: Mapping[str, Any], given: Mapping[str, bytes], plan: Plan) -> Headers:
    deadline = given.get(headers.DEADLINE)
    if deadline is not None and not re.fullmatch(rb"\d{1,15}", deadline):
        raise RefusedError(
            DlqReason.INVALID_HEADER,
            f"{headers.DEADLINE} {deadline[:40]!r}: expected milliseconds since 1970 in decimal digits",
        )
    reply_to = given.get(headers.REPLY_TO)
    if reply_to is not None and reply_to.decode("utf-8", "replace") not in plan.reply_topics:
        raise RefusedError(
            DlqReason.UNKNOWN_REPLY_TOPIC,
            f"{headers.REPLY_TO} {reply_to[:100]!r} is not on the plan's list of reply topics",
        )
    secret = given.get(headers.CANCEL_SECRET)
    if secret is not None and not is_secret(secret.decode("utf-8", "replace")):
        raise RefusedError(DlqReason.INVALID_HEADER, f"{headers.CANCEL_SECRET}: expected 32 lower-case hex digits")
    root = f"{record.topic}:{record.partition}:{record.offset}:{record.timestamp}"
    made: Headers = [
        (headers.TYPE, event["type"].encode()),
        (headers.EXTERNAL, b"1"),
        (headers.ROOT, root.encode()),
        (headers.ROOT_ID, event["id"].encode()),
        (headers.HOPS, b"0"),
    ]
    return made + [(name, value) for name, value in given.items() if name in headers.KEPT_FROM_OUTSIDE]
