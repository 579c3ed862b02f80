"""The event every process reads and writes: an envelope and a map of attributes (DESIGN 4.1)."""

import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn, Self

import orjson

from parkway.schemas import jsonio
from parkway.schemas.json_form import EventError, json_form, kind_of, short
from parkway.schemas.wire_model import WireModel

# Containers around an attribute's value: the event and its attribute map.
ATTRIBUTE_DEPTH: Final = 2

_TEXTS: Final = (bytes, str, bytearray, memoryview)
_WRITE_OPTIONS: Final = (
    orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
)


class Envelope(NamedTuple):
    """An event's JSON object, taken apart and checked; unknown members are dropped."""

    id: str
    type: str
    attributes: dict[str, Any]
    attachments: dict[str, Any] | None
    upstream_event_id: str | None
    upstream_action_name: str | None


class Event:
    """Something that happened: `type`, and `attributes` in JSON form.

    An event owns its values: what is passed is copied in JSON form, so later changes to the caller's objects
    change nothing, and a value without a JSON form raises EventError here. Equal means same id, type and
    attributes. Typed classes for the built-in types derive from this one; `Event.parse` gives them.

    `attachments` is kept when present. `upstream_event_id` and `upstream_action_name` are the runtime's
    (`with_lineage`); they are left out of the JSON when None.
    """

    id: str
    attachments: dict[str, Any] | None
    upstream_event_id: str | None
    upstream_action_name: str | None

    def __init__(
        self,
        type: str,  # noqa: A002 - the event's own word
        attributes: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002
        attachments: Mapping[str, Any] | None = None,
        upstream_event_id: str | None = None,
        upstream_action_name: str | None = None,
    ) -> None:
        body = {
            "id": id,
            "type": type,
            "attributes": {} if attributes is None else attributes,
            "attachments": attachments,
            "upstreamEventId": upstream_event_id,
            "upstreamActionName": upstream_action_name,
        }
        self.__dict__.update(_state(check_envelope(json_form(body, ""))))

    @property
    def type(self) -> str:
        """Name of the event's type."""
        return str(self.__dict__["_type"])

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes in JSON form."""
        attributes: dict[str, Any] = self.__dict__["_attributes"]
        return attributes

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read an event; attributes are checked by typed classes only. Raises nothing but EventError."""
        return cls._read(_load(data))

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Copy an event from its JSON object. Raises EventError."""
        return cls._read(json_form(mapping, ""))

    @staticmethod
    def parse(data: bytes | str | Mapping[str, Any]) -> "Event":
        """Read an event as its typed class if its type is built in, as a plain Event otherwise.

        Raises EventError, also for attributes that a built-in type does not have.
        """
        return Event.own(
            _load(data) if isinstance(data, _TEXTS) or not isinstance(data, Mapping) else json_form(data, "")
        )

    @staticmethod
    def own(body: Any) -> "Event":
        """`parse` of a decoded JSON object that the caller gives away: nothing is copied, and decoded once is enough.

        A later change to the event's attributes may show in `body`. Raises EventError.
        """
        name = body.get("type") if isinstance(body, dict) else None
        typed = TYPED_EVENTS.get(name, Event) if isinstance(name, str) else Event
        return typed._read(body)  # noqa: SLF001 - a class of this module's family

    def to_json(self) -> bytes:
        """Write the event. Raises EventError with the path of a value that was changed to no JSON."""
        return self._dumps(self._written())

    def to_json_with_lineage(self, upstream_event_id: str, upstream_action_name: str) -> bytes:
        """The same as `with_lineage(...).to_json()`, without the event in between."""
        body = self._written()
        body["upstreamEventId"] = upstream_event_id
        body["upstreamActionName"] = upstream_action_name
        return self._dumps(body)

    def to_dict(self) -> dict[str, Any]:
        """The event's JSON object, a copy."""
        body: dict[str, Any] = orjson.loads(self.to_json())
        return body

    def with_lineage(self, upstream_event_id: str | None, upstream_action_name: str | None) -> Self:
        """This event as sent by an action: the runtime's, overwriting what stood there. Shares attributes."""
        event = self.__class__.__new__(self.__class__)
        event.__dict__.update(
            self.__dict__, upstream_event_id=upstream_event_id, upstream_action_name=upstream_action_name
        )
        return event

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return (self.id, self.type, self.attributes) == (other.id, other.type, other.attributes)

    def __hash__(self) -> int:
        return hash((self.id, self.type))

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}(id={short(self.id)}, type={short(self.type)}, "
            f"attributes={short(self._members())})"
        )

    __str__ = __repr__

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{self.__class__.__name__}.{name}: events do not change; make a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self.__class__.__name__}.{name}: events do not change; make a new one")

    @classmethod
    def _read(cls, body: Any) -> Self:
        """An event from a JSON object that nobody else holds."""
        event = cls.__new__(cls)
        event.__dict__.update(_state(check_envelope(body)))
        return event

    def _members(self) -> dict[str, Any]:
        """Attributes to write; nested models may stand in it."""
        return self.attributes

    def _written(self) -> dict[str, Any]:
        body: dict[str, Any] = {"id": self.id, "type": self.type, "attributes": self._members()}
        if self.attachments is not None:
            body["attachments"] = self.attachments
        if self.upstream_event_id is not None:
            body["upstreamEventId"] = self.upstream_event_id
        if self.upstream_action_name is not None:
            body["upstreamActionName"] = self.upstream_action_name
        return body

    def _dumps(self, body: dict[str, Any]) -> bytes:
        try:
            return orjson.dumps(body, default=_write_other, option=_WRITE_OPTIONS)
        except (TypeError, EventError) as error:
            json_form(body, "")  # raises with the path
            raise EventError(f"{self.type}: {error}") from None

    def __json_form__(self) -> dict[str, Any]:
        return self._written()


# Event type -> class, filled by `parkway.schemas.events`.
TYPED_EVENTS: Final[dict[str, type[Event]]] = {}


def new_id() -> str:
    """A random UUID (version 4) as text, the id of a new event. `uuid` takes twice the time, by way of an object."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def check_envelope(body: Any) -> Envelope:
    """Take an event's JSON object apart. Raises EventError that names the member and its value."""
    if not isinstance(body, dict):
        raise EventError(f"an event is a JSON object, this is {kind_of(body)}")
    name = body.get("type")
    if not isinstance(name, str) or not name:
        raise EventError(f"type: expected a non-empty string, got {short(name)}")
    event_id = body.get("id")
    if event_id is None:
        event_id = new_id()
    elif not isinstance(event_id, str) or not event_id:
        raise EventError(f"id: expected a non-empty string, got {short(event_id)}")
    attributes = body.get("attributes", {})
    if not isinstance(attributes, dict):
        raise EventError(f"attributes: expected an object, got {kind_of(attributes)}")
    attachments = body.get("attachments")
    if attachments is not None and not isinstance(attachments, dict):
        raise EventError(f"attachments: expected an object, got {kind_of(attachments)}")
    return Envelope(
        event_id,
        name,
        attributes,
        attachments,
        _text_or_none(body, "upstreamEventId") if "upstreamEventId" in body else None,
        _text_or_none(body, "upstreamActionName") if "upstreamActionName" in body else None,
    )


def _state(envelope: Envelope) -> dict[str, Any]:
    """Instance attributes of a plain Event; `type` and `attributes` are properties over two of them."""
    return {
        "id": envelope.id,
        "_type": envelope.type,
        "_attributes": envelope.attributes,
        "attachments": envelope.attachments,
        "upstream_event_id": envelope.upstream_event_id,
        "upstream_action_name": envelope.upstream_action_name,
    }


def _text_or_none(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise EventError(f"{name}: expected a string, got {short(value)}")
    return value


def _load(data: bytes | str) -> Any:
    if not isinstance(data, _TEXTS):
        raise EventError(f"an event is read from bytes or text, this is {short(data)}")
    try:
        return jsonio.loads(data)
    except jsonio.JsonError as error:
        raise EventError(str(error)) from error


def _write_other(value: Any) -> Any:
    """Hook of orjson for what it does not write itself: our models, and values changed after construction."""
    if isinstance(value, WireModel):
        return value.written()
    return json_form(value, "")
