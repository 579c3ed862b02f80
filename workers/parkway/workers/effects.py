"""What an action gives back: effects that the committer carries out in one transaction."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from parkway.agents.sink import Payload
from parkway.agents.step import StepLog
from parkway.schemas.events import Event
from parkway.schemas.headers import Headers
from parkway.schemas.journal import JournalKind, JournalOutcome
from parkway.schemas.messages import ToolCall
from parkway.schemas.parked import ParkedApproval, ParkedRecord
from parkway.workers.limiter import Limiter, Permit


class ParkedTooLargeError(Exception):
    """`Action.failed` gets this when a request outgrew the limit of a parked record."""


class UndeliverableError(Exception):
    """`Action.failed` gets this when Kafka refused the records of a result."""


class PoisonError(Exception):
    """`Action.failed` gets this for a record that killed its process. The message quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person is asked whether `call` may run; `reason` says why."""

    call: ToolCall
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Park:
    """Write the request's parked record; it waits for the response to the tool request `waits_for`, or for a person.

    `state` is the action's own JSON; what else a parked record holds is known to the machinery. `deadline`
    (ms since 1970) is the request's: after it a sweep ends the request, and it bounds what is done for it. Each of
    `asks` is sent as an approval request with a fresh token; `approvals` are those of an earlier round that are still
    undecided, by call id. `awaits_person`: it counts with what waits for a person.
    """

    waits_for: str
    pending_calls: tuple[str, ...]
    state: Mapping[str, Any]
    round: int
    deadline: int
    asks: tuple[Ask, ...] = ()
    approvals: Mapping[str, ParkedApproval] = field(default_factory=dict)
    awaits_person: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """The record goes to the DLQ: it has no failed form, or the user's code raised after its retries.

    `message` and `traceback` may quote what the event contains; `plain` is the message that does not, for where
    content must not stand (None: `message` quotes nothing).
    """

    reason: str
    message: str
    attempts: int = 1
    plain: str | None = field(default=None, compare=False)
    traceback: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One call as the action that made it saw it. Times are milliseconds since 1970 (UTC).

    `name` is the resource's or the tool's, `model` the provider's own name of the model that answered, `usage` holds
    `promptTokens` and `completionTokens`. `content` is what was asked and answered, as anything with a JSON form; it
    is dropped, redacted or kept later, by setting. `request_id` is set only where it is not the handled request's.
    """

    kind: JournalKind
    name: str
    started_at: int
    ended_at: int
    outcome: JournalOutcome
    round: int = 1
    attempt: int = 1
    call_id: str | None = None
    error_type: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    content: Any = None
    request_id: str | None = None


@dataclass(slots=True)
class Effects:
    """Everything that one handled record causes. At most one of `response`, `park`, `failure`, `again` is set.

    `events` go to `<ns>.events`, `outputs` to `<ns>.outputs`, `payloads` to sinks. `response` is the terminal response
    of a request: it goes to `outputs` (or the reply topic) when the request came from outside, else to `events`,
    and deletes the request's parked record. `again`: the attempt failed and nothing of it is published; the
    record is handled once more after so many seconds, and holds its key until then. `journal` is what the calls
    made on the way go down as. `state` takes the place of what the action remembers of the record's key, none of it
    is left when that is empty; None: it stays as it is.
    """

    events: list[Event] = field(default_factory=list)
    outputs: list[Event] = field(default_factory=list)
    response: Event | None = None
    park: Park | None = None
    failure: Failure | None = None
    again: float | None = None
    journal: list[JournalEntry] = field(default_factory=list)
    payloads: list[Payload] = field(default_factory=list)
    state: dict[str, Any] | None = None

    @property
    def nothing(self) -> bool:
        """Does the record end without a trace?"""
        return not (
            self.events
            or self.outputs
            or self.response is not None
            or self.park is not None
            or self.failure is not None
            or self.again is not None
            or self.journal
            or self.payloads
            or self.state is not None
        )

    def how(self) -> str | None:
        """How a request ended: `answered`, or the type of its failed response; None where there is no response."""
        if self.response is None:
            return None
        attributes = self.response.attributes
        error = attributes.get("error")
        kind = error.get("type") if isinstance(error, dict) else None
        return str(kind) if attributes.get("success") is False and kind is not None else "answered"


@dataclass(slots=True)
class Task:
    """One record for an action. `event` is the decoded JSON object.

    Made when its record is dispatched, completed when it starts, and never changed after that.

    `deadline` is in milliseconds since 1970 (UTC). `parked` is set when `event` resumes something.
    `record_key` is the record's Kafka key. `asked_deadline` is the deadline that the record itself names, or
    its parked request. `attempt` counts from 1, over deaths and rebalances; the first one began at `since`
    (ms since 1970). `permit` is the limiter's, where the action named one. `held_up_by` names a limiter that
    a task waited for until its time was over. `root_id` is the id of the event from outside that led here. `state` is
    the record in `<ns>.state` of an action that keeps some, `steps` the log of one that has steps. `record_headers` are
    the record's.
    """

    event: Mapping[str, Any]
    deadline: int
    parked: ParkedRecord | None = None
    record_key: bytes | None = None
    asked_deadline: int | None = None
    attempt: int = 1
    since: int = 0
    permit: Permit | None = None
    held_up_by: str | None = None
    root_id: str | None = None
    state: bytes | None = None
    steps: StepLog | None = None
    record_headers: Headers = field(default_factory=list)


class Action(Protocol):
    """The code behind one action. Runs on the event loop; many calls at once."""

    name: str

    def handle(self, task: Task) -> Awaitable[Effects]:
        """Handle new work, or go on with `task.parked`. Raises only what is a bug, and CancelledError.

        `task.event` is given away: nothing but its id and type is looked at afterwards.
        """
        ...

    def limiter(self, task: Task) -> Limiter | None:
        """What limits how often such a task may start; it starts with a permit of that, in `task.permit`."""
        ...

    def expired(self, task: Task) -> Effects:
        """The failed response (`deadline_exceeded`) of a request whose time is over, parked or not."""
        ...

    def cancelled(self, task: Task, reason: str | None) -> Effects:
        """The end of a request that was cancelled, parked or not: its failed response (`cancelled`), or nothing.

        `reason` is what the one who cancelled it said. Only actions that a cancellation resumes are asked.
        """
        ...

    def failed(self, task: Task, error: Exception) -> Effects:
        """The failed response, or the failure, for an exception that `handle` let out (`internal`)."""
        ...
