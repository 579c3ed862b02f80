"""Events whose attributes are fields: the base of the built-in event classes."""

from collections.abc import Callable
from copy import copy
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parkway.schemas.event import ATTRIBUTE_DEPTH, Event, check_envelope, new_id
from parkway.schemas.json_form import EventError, json_form, kind_of, short
from parkway.schemas.wire_model import members_of, written_members

ENVELOPE_FIELDS: Final = frozenset({"id", "attachments", "upstream_event_id", "upstream_action_name"})
_UNION_TAGS: Final = frozenset({"int", "float"})  # pydantic adds them to the place of a number's error


class TypedEvent(Event, BaseModel):
    """An event with one field per attribute. `event.attributes` is a copy of them in JSON form.

    Construction takes the attributes by name, and `id`; it raises EventError for an attribute that the type
    does not know, that is missing or does not fit. A new event writes all its attributes; those named in
    `OMITTED` only when they are given and not None. An event that was read writes back what it read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    EVENT_TYPE: ClassVar[str]
    OMITTED: ClassVar[frozenset[str]] = frozenset({"user_context"})

    _absent_when_none: ClassVar[frozenset[str]]
    _written_defaults: ClassVar[dict[str, Any]]  # by JSON name
    _known: ClassVar[frozenset[str]]

    id: str = Field(default_factory=new_id, min_length=1)
    attachments: dict[str, Any] | None = None
    upstream_event_id: str | None = None
    upstream_action_name: str | None = None

    def __init__(self, **values: Any) -> None:
        own = {
            name: json_form(value, name, ATTRIBUTE_DEPTH)
            for name, value in self._prepare(values).items()
            if value is not None or name not in self._absent_when_none
        }
        for name, default in self._written_defaults.items():
            if name not in own:
                own[name] = copy(default)
        try:
            self.__pydantic_validator__.validate_python(own, self_instance=self)
        except ValidationError as error:
            raise self._explained(error, short) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls._absent_when_none = cls.OMITTED | ENVELOPE_FIELDS
        cls._known = frozenset(cls.attribute_names())
        cls._written_defaults = {
            member.name: member.default
            for member in members_of(cls).values()
            if not member.required and member.name not in cls._absent_when_none
        }

    @property
    def type(self) -> str:
        return self.EVENT_TYPE

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes in JSON form, a copy."""
        attributes: dict[str, Any] = self.to_dict()["attributes"]
        return attributes

    @classmethod
    def attribute_names(cls) -> list[str]:
        """Attributes that this type knows, by their JSON names."""
        return [member.name for member in members_of(cls).values() if member.name not in ENVELOPE_FIELDS]

    def with_lineage(self, upstream_event_id: str | None, upstream_action_name: str | None) -> Self:
        lineage = {"upstream_event_id": upstream_event_id, "upstream_action_name": upstream_action_name}
        return self.model_copy(update=lineage)

    @classmethod
    def _prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Arguments of a construction -> attributes, for types that fill some in."""
        return values

    @classmethod
    def _read(cls, body: Any) -> Self:
        envelope = check_envelope(body)
        if envelope.type != cls.EVENT_TYPE:
            raise EventError(f"type: expected {cls.EVENT_TYPE!r}, got {short(envelope.type)}")
        if not envelope.attributes.keys() <= cls._known:
            raise cls._unknown(next(name for name in envelope.attributes if name not in cls._known))
        values = {**envelope.attributes, "id": envelope.id}
        if envelope.attachments is not None:
            values["attachments"] = envelope.attachments
        if envelope.upstream_event_id is not None:
            values["upstream_event_id"] = envelope.upstream_event_id
        if envelope.upstream_action_name is not None:
            values["upstream_action_name"] = envelope.upstream_action_name
        event = cls.__new__(cls)
        try:
            cls.__pydantic_validator__.validate_python(values, self_instance=event)
        except ValidationError as error:
            raise cls._explained(error, kind_of) from None
        return event

    def _members(self) -> dict[str, Any]:
        return written_members(self, without=ENVELOPE_FIELDS)

    @classmethod
    def _explained(cls, error: ValidationError, said: Callable[[Any], str]) -> EventError:
        """`said` puts a value that does not fit into words: who wrote the code may see it, a log may not."""
        errors = error.errors(include_url=False)
        # A misspelt name also makes a required one missing; the misspelling is what to say.
        first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
        place = [part for part in first["loc"] if part not in _UNION_TAGS]
        if first["type"] == "extra_forbidden" and len(place) == 1:
            return cls._unknown(str(place[0]))
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        if first["type"] == "missing":
            return EventError(f"{cls.EVENT_TYPE}: {path} is missing")
        where = f"{cls.EVENT_TYPE}: {path}" if path else cls.EVENT_TYPE
        if first["type"] == "extra_forbidden":
            return EventError(f"{where} is unknown (got {said(first['input'])})")
        if first["type"] == "value_error":  # ours, and says what it got
            return EventError(f"{where}: {first['msg'].removeprefix('Value error, ')}")
        return EventError(f"{where}: {first['msg']} (got {said(first['input'])})")

    @classmethod
    def _unknown(cls, name: str) -> EventError:
        known = cls.attribute_names()
        close = get_close_matches(name[:100], known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return EventError(f"{cls.EVENT_TYPE}: unknown attribute {short(name)}{hint}; known: {', '.join(known)}")
