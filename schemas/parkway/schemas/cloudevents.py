"""CloudEvents 1.0 in Kafka records, structured and binary, to and from our events (DESIGN 3).

A CloudEvent's `id` and `type` are the event's, its data (a JSON object) are the attributes. Its other context
attributes (`source`, `subject`, `time`, extensions) stand in `attachments.cloudevents`, and are written again from
there. Other attachments and lineage have no place in a CloudEvent and are left out.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from parkway.schemas import headers, jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.event import Event
from parkway.schemas.format_error import FormatError
from parkway.schemas.headers import Headers
from parkway.schemas.json_form import kind_of, short

SPEC_VERSION: Final = "1.0"
HEADER_PREFIX: Final = "ce_"
ATTACHMENT: Final = "cloudevents"

_DATA: Final = frozenset({"id", "type", "data", "data_base64"})
_JSON: Final = b"application/json"


def read_structured(value: bytes) -> dict[str, Any]:
    """A CloudEvent in JSON -> the JSON object of an event, every number as it came. Raises FormatError."""
    body = _json_object(value, "a CloudEvent")
    context = {name: item for name, item in body.items() if name not in _DATA}
    return _event(body, context, _structured_data(body))


def read_binary(value: bytes | None, given: Mapping[str, bytes]) -> dict[str, Any]:
    """Headers `ce_*` and the data as the value -> the JSON object of an event. Raises FormatError."""
    content_type = headers.media_type(given)
    if content_type and content_type != _JSON and not content_type.endswith(b"+json"):
        raise FormatError(
            DlqReason.UNSUPPORTED_CONTENT_TYPE,
            f"content-type {content_type.decode('utf-8', 'replace')!r}: the data of a CloudEvent must be JSON here",
        )
    context = {
        name.removeprefix(HEADER_PREFIX): _text(name, item)
        for name, item in given.items()
        if name.startswith(HEADER_PREFIX) and item
    }
    data = _json_object(value, "the data of a CloudEvent") if value else {}
    return _event(context, {name: item for name, item in context.items() if name not in _DATA}, data)


def write_structured(event: Event, source: str | None = None) -> tuple[bytes, Headers]:
    """An event -> value and headers of a structured CloudEvent.

    `source` is a URI reference that says who sends it; None takes the one the event came with. Raises FormatError
    when there is none.
    """
    body = {**_context(event, source), "id": event.id, "type": event.type, "data": event.attributes}
    return jsonio.dumps(body), [(headers.CONTENT_TYPE, headers.CLOUDEVENTS_CONTENT)]


def write_binary(event: Event, source: str | None = None) -> tuple[bytes, Headers]:
    """An event -> value and headers of a binary CloudEvent; `source` as for `write_structured`."""
    context = {**_context(event, source), "id": event.id, "type": event.type}
    content_type = str(context.pop("datacontenttype", _JSON.decode()))
    made: Headers = [(headers.CONTENT_TYPE, content_type.encode())]
    made += [(f"{HEADER_PREFIX}{name}", _header(item)) for name, item in context.items()]
    return jsonio.dumps(event.attributes), made


def _event(body: Mapping[str, Any], context: Mapping[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    version = body.get("specversion")
    if version != SPEC_VERSION:
        raise FormatError(DlqReason.INVALID_EVENT, f"CloudEvent: specversion {short(version)}: send {SPEC_VERSION!r}")
    for name in ("id", "type", "source"):
        if not isinstance(body.get(name), str) or not body[name]:
            raise FormatError(
                DlqReason.INVALID_EVENT,
                f"CloudEvent: {name}: expected a string that is not empty, got {short(body.get(name))}",
            )
    for name, item in context.items():
        if isinstance(item, dict | list):
            raise FormatError(
                DlqReason.INVALID_EVENT,
                f"CloudEvent: {short(name)}: expected a text, number or flag, got {kind_of(item)}",
            )
    kept = {name: item for name, item in context.items() if item is not None}
    return {"id": body["id"], "type": body["type"], "attributes": data, "attachments": {ATTACHMENT: kept}}


def _structured_data(body: Mapping[str, Any]) -> dict[str, Any]:
    encoded = body.get("data_base64")
    if encoded is None:
        data = body.get("data")
        if data is None:
            return {}
        if not isinstance(data, dict):
            raise FormatError(
                DlqReason.INVALID_EVENT,
                f"CloudEvent: data: expected a JSON object (the attributes), got {kind_of(data)}",
            )
        return data
    if body.get("data") is not None:
        raise FormatError(DlqReason.INVALID_EVENT, "CloudEvent: data and data_base64: give one of them")
    try:
        value = base64.b64decode(encoded, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise FormatError(DlqReason.INVALID_EVENT, "CloudEvent: data_base64: it is no base64") from None
    return _json_object(value, "the data of a CloudEvent")


def _context(event: Event, source: str | None) -> dict[str, Any]:
    came = (event.attachments or {}).get(ATTACHMENT)
    context: dict[str, Any] = {"specversion": SPEC_VERSION, **(came if isinstance(came, dict) else {})}
    if source is not None:
        context["source"] = source
    if not context.get("source"):
        raise FormatError(DlqReason.INVALID_EVENT, "CloudEvent: source: say who sends it, such as '/tickets'")
    return context


def _json_object(value: bytes, what: str) -> dict[str, Any]:
    try:
        body = jsonio.loads(value)
    except jsonio.JsonError as error:
        raise FormatError(error.reason, f"{what}: {error}") from None
    if not isinstance(body, dict):
        raise FormatError(DlqReason.INVALID_EVENT, f"{what}: expected a JSON object, got {kind_of(body)}")
    written: dict[str, Any] = jsonio.loads_for_writing(value, body)
    return written


def _text(name: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise FormatError(DlqReason.INVALID_HEADER, f"header {name[:60]}: {value[:40]!r} is not UTF-8") from None


def _header(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else jsonio.dumps(value)
