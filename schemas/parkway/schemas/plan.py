"""The plan: what a router needs to know of an agent (DESIGN 1 and 6)."""

import hashlib
from collections.abc import Iterable
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from parkway.schemas import jsonio, topics
from parkway.schemas.errors import ParkwayError
from parkway.schemas.event_types import DEFAULT_ACCEPTS, REQUEST_TYPES, EventType
from parkway.schemas.limits import Limits
from parkway.schemas.versions import RecordError, read_versioned

ActionName = Annotated[str, Field(pattern=f"^{topics.ACTION_NAME.pattern}$")]
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
SourceFormat = Literal["json", "avro", "cloudevents", "envelope"]
SinkFormat = Literal["json", "avro", "cloudevents"]

MAX_TYPE_CHARS: Final = 256  # of an event's type

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
    keeps_state: bool = False  # `ctx.state`, in `<ns>.state`
    keeps_steps: bool = False  # `ctx.step`, in `<ns>.parked`
    retired: bool = False  # takes no new work: it has no triggers, and is here for what it parked

    @model_validator(mode="after")
    def _fires_nothing_when_retired(self) -> Self:
        if self.retired and (self.triggers or self.answers):
            raise ValueError(f"action {self.name!r} is retired: it has no triggers and answers nothing")
        return self

    @property
    def parks(self) -> bool:
        return bool(self.resumed_by)

    @property
    def parks_requests(self) -> bool:
        """Or is it resumed by cancellations only, of what it runs?"""
        return any(event_type != EventType.CancelRequestEvent for event_type in self.resumed_by)

    def retire(self) -> "ActionPlan":
        """This action for continuations only."""
        return self.model_copy(update={"triggers": (), "answers": (), "retired": True})


class SourcePlan(BaseModel):
    """A topic of somebody else's that the router reads besides `requests` (DESIGN 3).

    `json` and `avro`: the value is the attributes of an event of `type`. `cloudevents` and `envelope`: the record
    says its type, which must be `type` or one that the plan accepts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: TopicName
    type: str | None = None
    format: SourceFormat = "json"

    @model_validator(mode="after")
    def _typed(self) -> Self:
        if not self.type and self.format in {"json", "avro"}:
            raise ValueError(f"source {self.topic}: format {self.format} needs a type, that of its events")
        if self.type is not None and len(self.type) > MAX_TYPE_CHARS:
            raise ValueError(f"source {self.topic}: its type is longer than {MAX_TYPE_CHARS} characters")
        return self


class SinkPlan(BaseModel):
    """A topic of somebody else's that actions write plain payloads to (DESIGN 3)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: TopicName
    format: SinkFormat = "json"


class Plan(BaseModel):
    """Actions in the agent's order, and the policies of an installation. `v` is the format's version."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    v: Literal[1] = 1
    agent: str
    build: str = ""
    actions: tuple[ActionPlan, ...] = Field(min_length=1)
    accepts: tuple[str, ...] = DEFAULT_ACCEPTS
    sources: tuple[SourcePlan, ...] = ()
    sinks: tuple[SinkPlan, ...] = ()
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
        self._check_sources()
        self._check_sinks()
        return self

    def _check_sources(self) -> None:
        names = [source.topic for source in self.sources]
        for source in self.sources:
            if names.count(source.topic) > 1:
                raise ValueError(f"source {source.topic} stands in the plan twice")
            if source.type and source.type.startswith("_") and source.type not in {*DEFAULT_ACCEPTS, *self.accepts}:
                raise ValueError(f"source {source.topic}: {source.type} is never accepted from outside")

    def _check_sinks(self) -> None:
        names = [sink.topic for sink in self.sinks]
        sources = {source.topic for source in self.sources}
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"sink {name} stands in the plan twice")
            if name in sources:
                raise ValueError(f"{name} is a source and a sink: what is sent there would come back for ever")

    @property
    def limits(self) -> Limits:
        """What an event from outside may be at most."""
        return Limits(self.max_event_bytes, self.max_event_depth, self.max_string_chars, self.max_members)

    @property
    def cancellable(self) -> tuple[str, ...]:
        """The actions whose requests can be cancelled."""
        return tuple(one.name for one in self.actions if EventType.CancelRequestEvent in one.resumed_by)

    @property
    def approvable(self) -> tuple[str, ...]:
        """The actions whose requests wait for approvals."""
        return tuple(one.name for one in self.actions if EventType.ApprovalResponseEvent in one.resumed_by)

    def action(self, name: str) -> ActionPlan | None:
        """The action of that name, or None."""
        return next((action for action in self.actions if action.name == name), None)

    def with_build(self) -> "Plan":
        """This plan with `build` set to the hash of what it does: the same however the agent was named."""
        # Without defaults: a member that a later version adds does not change the build of an old plan.
        body = self.model_dump(mode="json", exclude={"build", "agent"}, exclude_defaults=True)
        digest = hashlib.sha256(jsonio.dumps(body)).hexdigest()[:12]
        return self.model_copy(update={"build": digest})

    def retire(self, name: str, known: "Plan | None" = None) -> "Plan":
        """This plan with that action, of its own or of `known`, for continuations only. Raises PlanError."""
        action = self.action(name) or (known.action(name) if known is not None else None)
        if action is None:
            names = sorted({each.name for plan in (self, known) if plan is not None for each in plan.actions})
            raise PlanError(
                f"no action {name!r} to retire, in this plan or the one in force; they have {', '.join(names)}"
            )
        others = tuple(each for each in self.actions if each.name != name)
        return self.model_copy(update={"actions": (*others, action.retire())}).with_build()

    def without(self, names: Iterable[str]) -> "Plan":
        """This plan without these actions. Not to be run: the last action may be among them."""
        gone = set(names)
        kept = tuple(each for each in self.actions if each.name not in gone)
        return self.model_copy(update={"actions": kept}).with_build()

    @property
    def retired(self) -> tuple[str, ...]:
        """Names of the actions that are here for continuations only."""
        return tuple(action.name for action in self.actions if action.retired)

    def to_json(self) -> bytes:
        return self.model_dump_json(indent=2).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes, *, source: str = "plan") -> "Plan":
        """Read a plan. Raises PlanError that names `source`, the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise PlanError(f"{source}: {error}") from None
