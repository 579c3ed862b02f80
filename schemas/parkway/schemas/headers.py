"""Every record header that Parkway reads or writes (DESIGN 3), and who may set it."""

from collections.abc import Iterable, Mapping
from typing import Final

CONTENT_TYPE: Final = "content-type"  # the format of the value
TRACEPARENT: Final = "traceparent"  # W3C trace context
TRACESTATE: Final = "tracestate"  # W3C trace context

TYPE: Final = "parkway-type"  # the event's type, so that a router need not decode the value
DEADLINE: Final = "parkway-deadline"  # milliseconds since 1970 (UTC), decimal
REPLY_TO: Final = "parkway-reply-to"  # topic that replaces `outputs` for the response
SUBJECT: Final = "parkway-subject"  # on whose behalf; never used to decide rights
TENANT: Final = "parkway-tenant"  # whose data it is; never used to decide rights
CANCEL_SECRET: Final = "parkway-cancel-secret"  # noqa: S105  32 hex digits that the requester chose for its cancel token
EXTERNAL: Final = "parkway-external"  # "1": this event came in by `requests`
ROOT: Final = "parkway-root"  # topic:partition:offset:timestamp of the record that came from outside
ROOT_ID: Final = "parkway-root-id"  # its event id
PARENT: Final = "parkway-parent"  # the parked request that a request was sent on behalf of
HOPS: Final = "parkway-hops"  # events in the chain before this one, decimal
RETURN: Final = "parkway-return"  # reserved

ORIGIN: Final = "parkway-origin"  # topic/partition/offset of a record in the DLQ
ATTEMPT: Final = "parkway-attempt"  # how often it was tried, decimal
ERROR_TYPE: Final = "parkway-error-type"  # why a record is in the DLQ, one word
ERROR_MESSAGE: Final = "parkway-error-message"  # the same for people
REPLAYS: Final = "parkway-replays"  # how often it was put back from the DLQ, decimal
ERROR_TRACEBACK: Final = "parkway-error-traceback"  # the end of the handler's traceback, only with capture_content

JSON_CONTENT: Final = b"application/vnd.parkway.event+json"
AVRO_CONTENT: Final = b"application/vnd.parkway.event+avro"
CLOUDEVENTS_CONTENT: Final = b"application/cloudevents+json"

# Kept from a record of `requests`; everything else with our prefix is made from the body or removed.
KEPT_FROM_OUTSIDE: Final = frozenset(
    {TRACEPARENT, TRACESTATE, DEADLINE, REPLY_TO, SUBJECT, TENANT, CANCEL_SECRET, REPLAYS}
)
# Copied from a record to everything that it causes.
COPIED_ON_EVERY_HOP: Final = frozenset({TRACEPARENT, TRACESTATE, SUBJECT, TENANT, ROOT, ROOT_ID, PARENT})

Headers = list[tuple[str, str | bytes | None]]  # the form that confluent-kafka takes


def as_dict(headers: Iterable[tuple[str, str | bytes | None]] | None) -> dict[str, bytes]:
    """Header list -> dict; of a repeated name the last one counts, a null value reads as empty."""
    return {name: value if isinstance(value, bytes) else (value or "").encode() for name, value in headers or ()}


def media_type(given: Mapping[str, bytes]) -> bytes:
    """The content type without its parameters, in lower case; empty when there is none."""
    return given.get(CONTENT_TYPE, b"").partition(b";")[0].strip().lower()


def number(value: bytes | None, default: int) -> int:
    """A decimal header of ours, or `default` when it is absent or no number."""
    return int(value) if value is not None and value.isdigit() and len(value) < 20 else default
