"""From the bytes of a record to our envelope in JSON, whatever its format (DESIGN 3, "Formats on input")."""

from collections.abc import Mapping
from typing import Final

from parkway.schemas import cloudevents, headers, jsonio
from parkway.schemas.avro import AvroCodec
from parkway.schemas.avro.codec import CONFLUENT_MAGIC, SINGLE_OBJECT_MAGIC
from parkway.schemas.errors import DlqReason
from parkway.schemas.format_error import FormatError

AVRO_TYPES: Final = frozenset({headers.AVRO_CONTENT, b"application/avro", b"avro/binary"})

_PLAIN_JSON: Final = b"application/json"
_READ: Final = b", ".join([headers.JSON_CONTENT, headers.CLOUDEVENTS_CONTENT, headers.AVRO_CONTENT]).decode()


def envelope(value: bytes, given: Mapping[str, bytes], avro: AvroCodec) -> bytes:
    """The event's JSON: `content-type` says what `value` is; without one its first bytes do.

    An envelope comes back as it is, not parsed. Raises FormatError for everything that is no event in its format,
    and, with a schema registry, RegistryUnavailableError.
    """
    content_type = headers.media_type(given)
    if content_type == headers.CLOUDEVENTS_CONTENT:
        return jsonio.dumps(cloudevents.read_structured(value))
    if content_type.startswith(b"application/cloudevents"):
        raise _unsupported(content_type)
    if f"{cloudevents.HEADER_PREFIX}specversion" in given:
        return jsonio.dumps(cloudevents.read_binary(value, given))
    if content_type in AVRO_TYPES or (not content_type and value.startswith((SINGLE_OBJECT_MAGIC, CONFLUENT_MAGIC))):
        return avro.decode_event(value)
    if content_type == headers.JSON_CONTENT:
        return value
    if content_type not in {b"", _PLAIN_JSON}:
        raise _unsupported(content_type)
    if b'"specversion"' in value and _is_cloudevent(value):
        return jsonio.dumps(cloudevents.read_structured(value))
    return value


def _is_cloudevent(value: bytes) -> bool:
    try:
        body = jsonio.loads(value)
    except jsonio.JsonError:
        return False  # whoever reads the envelope says what is wrong with it
    return isinstance(body, dict) and "specversion" in body


def _unsupported(content_type: bytes) -> FormatError:
    shown = content_type[:100].decode("utf-8", "replace")
    return FormatError(DlqReason.UNSUPPORTED_CONTENT_TYPE, f"content-type {shown!r} is not read: send {_READ}")
