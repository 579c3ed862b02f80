"""How an installation writes its events, and how all of them are read (DESIGN 4.4).

`wire_format` says which format is written; JSON and Avro are both read, whichever is written, so an installation can
change over while it runs.
"""

from parkway.runtime.schema_registry import SchemaRegistry
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.avro import AvroCodec
from parkway.schemas.avro.codec import CONFLUENT_MAGIC, SINGLE_OBJECT_MAGIC

_AVRO = (SINGLE_OBJECT_MAGIC, CONFLUENT_MAGIC)


class EventCodec:
    """Events between their JSON and the bytes of a record. May be shared between threads."""

    def __init__(self, avro: AvroCodec, *, write_avro: bool = False) -> None:
        self.avro = avro
        self._write_avro = write_avro
        self.content_type = headers.AVRO_CONTENT if write_avro else headers.JSON_CONTENT

    def encode(self, event: bytes) -> bytes:
        """JSON of an event -> the value of a record, whose content-type is `content_type`."""
        return self.avro.encode_event(event) if self._write_avro else event

    def decode(self, value: bytes) -> bytes:
        """The value of a record of ours -> JSON. Raises FormatError, and RegistryUnavailableError."""
        return self.avro.decode_event(value) if value.startswith(_AVRO) else value


def event_codec(settings: Settings) -> EventCodec:
    """The codec that the settings choose. Raises ParkwayError for a registry that cannot be used."""
    registry = SchemaRegistry(settings.schema_registry) if settings.schema_registry is not None else None
    return EventCodec(AvroCodec(registry), write_avro=settings.wire_format == "avro")
