"""`Sink`: a topic of somebody else's that takes outputs as plain payloads."""

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, get_args

from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.resource import Resource
from parkway.schemas import headers, jsonio
from parkway.schemas.avro.payload import PayloadSchema, PayloadSchemaError
from parkway.schemas.cloudevents import SPEC_VERSION
from parkway.schemas.headers import Headers
from parkway.schemas.json_form import json_form
from parkway.schemas.plan import SinkFormat, SinkPlan

_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_FORMATS: Final = get_args(SinkFormat)


@dataclass(frozen=True, slots=True)
class Payload:
    """A record for a sink: where it goes, and what stands in it. Its key is that of the handled record."""

    topic: str
    value: bytes
    headers: Headers


class Sink(Resource):
    """A topic that exists already, as a class attribute of an agent: `orders = Sink("shop.orders")`.

    `ctx.output(value, to=self.orders)` writes the value there as it is, with the key of the handled record, in the
    transaction of the action's other results. The topic may have any number of partitions: its partitioner decides
    (Java's default one, murmur2).

    `format` says what a record's value is:

    - `json`: the value as JSON.
    - `cloudevents`: a structured CloudEvent of `type`, with the value as its data. `source` says who sends it
      (default: `/<agent>`).
    - `avro`: the value in Confluent's framing, by the schema registry (`PARKWAY_SCHEMA_REGISTRY`). `schema` is Avro's
      JSON; without one the newest of `subject` (default `<topic>-value`) is taken when a worker starts.

    Raises AgentError for what makes no sense.
    """

    def __init__(
        self,
        topic: str,
        *,
        format: SinkFormat = "json",  # noqa: A002
        type: str | None = None,  # noqa: A002
        source: str | None = None,
        schema: str | None = None,
        subject: str | None = None,
    ) -> None:
        where = f"Sink({topic!r})"
        if not isinstance(topic, str) or not _TOPIC.fullmatch(topic) or topic in {".", ".."}:
            raise AgentError(f"{where}: a topic's name has 1 to 249 characters of A-Z a-z 0-9 . _ -")
        if format not in _FORMATS:
            hint = did_you_mean(str(format), _FORMATS)
            raise AgentError(f"{where}: format {format!r}: one of {', '.join(_FORMATS)}{hint}")
        if format == "cloudevents" and not type:
            raise AgentError(f"{where}: a CloudEvent needs a type: Sink({topic!r}, format='cloudevents', type='...')")
        for name, value, of in (
            ("type", type, "cloudevents"),
            ("source", source, "cloudevents"),
            ("schema", schema, "avro"),
            ("subject", subject, "avro"),
        ):
            if value is not None and format != of:
                raise AgentError(f"{where}: {name}= belongs to format={of!r}, not {format!r}")
        if schema is not None:
            try:
                PayloadSchema(schema)
            except PayloadSchemaError as error:
                raise AgentError(f"{where}: schema: {error}") from None
        self.topic = topic
        self.format: SinkFormat = format
        self.type = type
        self.source = source
        self.schema = schema
        self.subject = subject or f"{topic}-value"

    def __repr__(self) -> str:
        return f"Sink({self.topic!r}, format={self.format!r})"

    def planned(self) -> SinkPlan:
        """Its form in the plan."""
        return SinkPlan(topic=self.topic, format=self.format)


# A value -> what stands in the record. Raises EventError for what cannot be written.
Write = Callable[[Any], tuple[bytes, Headers]]
Sinks = Mapping[Sink, Write]


def plain_writer(sink: Sink, sender: str) -> Write:
    """Give what writes payloads of a format that needs no registry; `sender` sends CloudEvents that name no source."""
    if sink.format == "json":
        return _write_json
    if sink.format == "cloudevents" and sink.type is not None:
        return partial(_write_cloudevent, sink.type, sink.source or sender)
    raise AgentError(f"{sink!r}: Avro needs a schema registry")


def _write_json(value: Any) -> tuple[bytes, Headers]:
    return jsonio.dumps(json_form(value, "output")), [(headers.CONTENT_TYPE, b"application/json")]


def _write_cloudevent(event_type: str, source: str, value: Any) -> tuple[bytes, Headers]:
    body = {
        "specversion": SPEC_VERSION,
        "id": str(uuid.uuid4()),
        "source": source,
        "type": event_type,
        "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": json_form(value, "output", 1),
    }
    return jsonio.dumps(body), [(headers.CONTENT_TYPE, headers.CLOUDEVENTS_CONTENT)]
