"""`Source`: a topic of somebody else's whose records are events of the agent."""

import re
from typing import Final, get_args

from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.resource import Resource
from parkway.schemas.event_types import BUILT_IN_TYPES, DEFAULT_ACCEPTS
from parkway.schemas.plan import MAX_TYPE_CHARS, SourceFormat, SourcePlan

_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_FORMATS: Final = get_args(SourceFormat)


class Source(Resource):
    """A topic that exists already, as a class attribute of an agent: `orders = Source("shop.orders", type="order")`.

    The router reads it beside `requests`, whatever its partition count; records of one key stay in order.

    `format` says what a record's value is:

    - `json`: a JSON object; it becomes the attributes of an event of `type`.
    - `avro`: the same, in Confluent's framing with any schema of the registry (`PARKWAY_SCHEMA_REGISTRY`).
    - `cloudevents`: a CloudEvent, structured or binary.
    - `envelope`: an event as Parkway writes it.

    The last two say their type themselves: it must be `type`, or one that the agent accepts from outside. A type
    that only a Source names is not accepted from `requests`. Raises AgentError for what makes no sense.
    """

    def __init__(self, topic: str, *, type: str | None = None, format: SourceFormat = "json") -> None:  # noqa: A002
        where = f"Source({topic!r})"
        if not isinstance(topic, str) or not _TOPIC.fullmatch(topic) or topic in {".", ".."}:
            raise AgentError(f"{where}: a topic's name has 1 to 249 characters of A-Z a-z 0-9 . _ -")
        if format not in _FORMATS:
            hint = did_you_mean(str(format), _FORMATS)
            raise AgentError(f"{where}: format {format!r}: one of {', '.join(_FORMATS)}{hint}")
        if type is None and format in {"json", "avro"}:
            raise AgentError(f"{where}: format {format!r} needs the type of its events: Source({topic!r}, type='...')")
        if type is not None:
            _check_type(where, type)
        self.topic = topic
        self.type = type
        self.format: SourceFormat = format

    def __repr__(self) -> str:
        return f"Source({self.topic!r}, type={self.type!r}, format={self.format!r})"

    def planned(self) -> SourcePlan:
        """Its form in the plan."""
        return SourcePlan(topic=self.topic, type=self.type, format=self.format)


def _check_type(where: str, event_type: str) -> None:
    if not event_type or len(event_type) > MAX_TYPE_CHARS:
        raise AgentError(f"{where}: type {event_type[:60]!r}: 1 to {MAX_TYPE_CHARS} characters")
    if event_type.startswith("_") and event_type not in DEFAULT_ACCEPTS:
        if event_type in BUILT_IN_TYPES:
            raise AgentError(f"{where}: {event_type} is never accepted from outside; choose a type of your own")
        hint = did_you_mean(event_type, BUILT_IN_TYPES)
        raise AgentError(f"{where}: type {event_type!r}: types that begin with _ are Parkway's{hint}; choose another")
