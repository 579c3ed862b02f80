"""Plain payloads in Avro, by a schema of somebody else's: what a sink writes."""

import json
from io import BytesIO
from typing import Any, Final

from fastavro import schemaless_writer
from fastavro.schema import parse_schema
from pydantic import BaseModel

from parkway.schemas.json_form import EventError, short

_MAGIC: Final = b"\x00"  # Confluent's framing: then the schema's id, 4 bytes


class PayloadSchemaError(ValueError):
    """A text that is no Avro schema."""


class PayloadSchema:
    """A schema that payloads are written by. Raises PayloadSchemaError."""

    def __init__(self, text: str) -> None:
        try:
            parsed = json.loads(text)
            self._parsed = parse_schema(parsed)
        except Exception as error:  # fastavro raises what it happens to meet
            raise PayloadSchemaError(f"no Avro schema: {type(error).__name__}: {error}") from None
        self.text = text
        self.name = str(parsed.get("name", "value")) if isinstance(parsed, dict) else "value"

    def write(self, value: Any, schema_id: int) -> bytes:
        """The value in Confluent's framing. A pydantic model is written as the map of its fields.

        Raises EventError for a value that does not fit the schema.
        """
        buffer = BytesIO()
        buffer.write(_MAGIC + schema_id.to_bytes(4, "big"))
        plain = value.model_dump(warnings=False) if isinstance(value, BaseModel) else value
        try:
            schemaless_writer(buffer, self._parsed, plain, strict_allow_default=True)
        except Exception as error:  # fastavro: ValueError, TypeError, KeyError, AttributeError ...
            detail = f"{type(error).__name__}: {error}".rstrip(": ")
            raise EventError(f"output: {short(value)} does not fit the Avro schema {self.name}: {detail}") from None
        return buffer.getvalue()
