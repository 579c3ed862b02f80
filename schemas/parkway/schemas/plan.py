"""The plan: what a router needs to know of an agent (DESIGN 1 and 6)."""

import hashlib
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from parkway.schemas import jsonio, topics
from parkway.schemas.errors import ParkwayError
from parkway.schemas.event_types import DEFAULT_ACCEPTS, REQUEST_TYPES, EventType
from parkway.schemas.limits import Limits
from parkway.schemas.versions import RecordError, read_versioned

ActionName = Annotated[str, Field(pattern=f"^{topics.ACTION_NAME.pattern}$")]

_LIMITS: Final = Limits()


class PlanError(ParkwayError, ValueError):
    """A plan that cannot be used; the message says what to change."""


class ActionPlan(BaseModel):
    """One action: what triggers it, and what resumes what it parked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ActionName
    triggers: tuple[str, ...]
    resumed_by: tuple[str, ...] = ()  # event types sent to `<ns>.resume.<name>`; not empty: the action parks
    answers: tuple[str, ...] = ()  # request types that this action ends with a terminal response

    @property
    def parks(self) -> bool:
        return bool(self.resumed_by)


class Plan(BaseModel):
    """Actions in the agent's order, and the policies of an installation. `v` is the format's version."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    v: Literal[1] = 1
    agent: str
    build: str = ""
    actions: tuple[ActionPlan, ...] = Field(min_length=1)
    accepts: tuple[str, ...] = DEFAULT_ACCEPTS
    on_trigger_error: Literal["skip", "fail"] = "skip"
    reply_topics: tuple[str, ...] = ()
    route_external_responses: bool = False
    hop_limit: int = Field(default=100, ge=1, le=10_000)
    max_event_bytes: int = Field(default=_LIMITS.max_event_bytes, ge=1_000, le=50_000_000)
    max_event_depth: int = Field(default=_LIMITS.max_event_depth, ge=3, le=_LIMITS.max_event_depth)
    max_string_chars: int = Field(default=_LIMITS.max_string_chars, ge=100, le=50_000_000)
    max_members: int = Field(default=_LIMITS.max_members, ge=10, le=10_000_000)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [action.name for action in self.actions]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"action {name!r} stands in the plan twice")
        for request in sorted(REQUEST_TYPES):
            answering = [action.name for action in self.actions if request in action.answers]
            if len(answering) > 1:
                raise ValueError(
                    f"{request} is answered by {' and '.join(answering)}; at most one action may answer it"
                )
        if EventType.OutputEvent in self.accepts:
            raise ValueError("accepts: _output_event comes from actions only; take it off the list")
        return self

    @property
    def limits(self) -> Limits:
        """What an event from outside may be at most."""
        return Limits(self.max_event_bytes, self.max_event_depth, self.max_string_chars, self.max_members)

    def action(self, name: str) -> ActionPlan | None:
        """The action of that name, or None."""
        return next((action for action in self.actions if action.name == name), None)

    def with_build(self) -> "Plan":
        """This plan with `build` set to the hash of what it does: the same however the agent was named."""
        body = self.model_dump(mode="json", exclude={"build", "agent"})
        digest = hashlib.sha256(jsonio.dumps(body)).hexdigest()[:12]
        return self.model_copy(update={"build": digest})

    def to_json(self) -> bytes:
        return self.model_dump_json(indent=2).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes, *, source: str = "plan") -> "Plan":
        """Read a plan. Raises PlanError that names `source`, the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise PlanError(f"{source}: {error}") from None
