"""The sinks of an agent, ready to write: for those in Avro their schemas are asked of the registry, once."""

from functools import partial
from typing import Any

from parkway.agents.agent import Definition
from parkway.agents.errors import AgentError
from parkway.agents.sink import Sink, Sinks, Write, plain_writer
from parkway.runtime.schema_registry import SchemaRegistry
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.avro.payload import PayloadSchema, PayloadSchemaError
from parkway.schemas.headers import Headers


def open_sinks(settings: Settings, definition: Definition) -> Sinks:
    """Writers of all sinks. Blocks while a registry answers.

    Raises AgentError for a sink in Avro without a registry or a schema, ParkwayError when the registry does not answer.
    """
    return {
        sink: plain_writer(sink, f"/{definition.agent}") if sink.format != "avro" else _avro_writer(settings, sink)
        for sink in definition.sinks.values()
    }


def _avro_writer(settings: Settings, sink: Sink) -> Write:
    if settings.schema_registry is None:
        raise AgentError(
            f"{sink!r}: Avro names its schema by the id that a registry gives it: set PARKWAY_SCHEMA_REGISTRY to its "
            "URL, or choose format='json'"
        )
    registry = SchemaRegistry(settings.schema_registry)
    try:
        schema_id, schema = _schema(registry, sink)
    finally:
        registry.close()
    return partial(_write_avro, schema, schema_id)


def _schema(registry: SchemaRegistry, sink: Sink) -> tuple[int, PayloadSchema]:
    if sink.schema is not None:
        return registry.schema_id(sink.subject, sink.schema), PayloadSchema(sink.schema)
    found = registry.newest(sink.subject)
    if found is None:
        raise AgentError(
            f"{sink!r}: the schema registry has no subject {sink.subject!r}: register its schema there, or give it: "
            f"Sink({sink.topic!r}, format='avro', schema='...')"
        )
    schema_id, text = found
    try:
        return schema_id, PayloadSchema(text)
    except PayloadSchemaError as error:
        raise AgentError(f"{sink!r}: subject {sink.subject!r}: {error}") from None


def _write_avro(schema: PayloadSchema, schema_id: int, value: Any) -> tuple[bytes, Headers]:
    return schema.write(value, schema_id), [(headers.CONTENT_TYPE, b"application/avro")]
