"""Events and parked records as Avro (DESIGN 4.4): one record per built-in event, a generic one for all others."""

from parkway.schemas.avro.codec import AvroCodec, SchemaResolver

__all__ = ["AvroCodec", "SchemaResolver"]
