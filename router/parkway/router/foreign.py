"""Records of topics that are no Parkway topics, as a plan's sources name them (DESIGN 3)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parkway.runtime.codec import EventCodec
from parkway.schemas import cloudevents, jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.format_error import FormatError
from parkway.schemas.json_form import kind_of
from parkway.schemas.limits import Limits
from parkway.schemas.plan import SourcePlan


def attributes_event(
    value: bytes, source: SourcePlan, codec: EventCodec, limits: Limits
) -> tuple[dict[str, Any], dict[str, Any]]:
    """An event without an id whose attributes are the value; the second form is for writing.

    The value is parsed by itself: nothing in it can become a member of the event. Raises FormatError, JsonError and
    RegistryUnavailableError.
    """
    text = codec.avro.decode_foreign(value) if source.format == "avro" else value
    # The event is one level more than its attributes.
    attributes = jsonio.loads_limited(text, replace(limits, max_event_depth=limits.max_event_depth - 1))
    if not isinstance(attributes, dict):
        raise FormatError(
            DlqReason.INVALID_EVENT,
            f"source {source.topic}: expected an object (the attributes), got {kind_of(attributes)}",
        )
    written = jsonio.loads_for_writing(text, attributes)
    return {"type": source.type, "attributes": attributes}, {"type": source.type, "attributes": written}


def event(value: bytes, given: Mapping[str, bytes], source: SourcePlan, codec: EventCodec) -> bytes:
    """The event's JSON from a CloudEvent or an envelope, whatever its content-type says. Raises FormatError."""
    if source.format == "envelope":
        return codec.decode(value)
    if f"{cloudevents.HEADER_PREFIX}specversion" in given:
        return jsonio.dumps(cloudevents.read_binary(value, given))
    return jsonio.dumps(cloudevents.read_structured(value))
