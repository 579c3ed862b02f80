"""What is to be done with a taken record: run it, end it, or let it wait (DESIGN 7.2).

Used on the event loop only.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parkway.agents.step import StepLog
from parkway.runtime.codec import EventCodec
from parkway.runtime.records import Incoming
from parkway.runtime.settings import Settings
from parkway.schemas import headers, jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import EventType
from parkway.schemas.events import ApprovalResponseEvent, Event, EventError
from parkway.schemas.format_error import FormatError
from parkway.schemas.plan import ActionPlan
from parkway.schemas.tokens import Token
from parkway.workers.assignment import Partition
from parkway.workers.cancellations import Cancellations
from parkway.workers.effects import Action, Task
from parkway.workers.limiter import Permit
from parkway.workers.origins import origin_of
from parkway.workers.parked import Verdict
from parkway.workers.results import ResultBuilder
from parkway.workers.times import now_ms
from parkway.workers.work import Held, Lane, Result, Work


class Dispatcher:
    """Decides for one action. A claim that a decision takes is given back by its result."""

    def __init__(
        self,
        settings: Settings,
        plan: ActionPlan,
        action: Action,
        builder: ResultBuilder,
        codec: EventCodec,
        cancellations: Cancellations,
    ) -> None:
        self._default_deadline_ms = int(settings.request_deadline * 1000)
        self._plan = plan
        self._action = action
        self._builder = builder
        self._codec = codec
        self._cancellations = cancellations

    def decide(self, partition: Partition, work: Work) -> Task | Result | None:
        """A task to run, a result to commit, or None: the work waits for the outcome of a transaction, or an index."""
        try:
            work.event = self._decode(work.record)
        except (jsonio.JsonError, FormatError) as error:
            return self._builder.dead(work, DlqReason.INVALID_JSON, str(error))
        if not isinstance(work.event.get("id"), str):
            return self._builder.dead(work, DlqReason.INVALID_EVENT, "id: expected a string")
        if work.lane is Lane.RESUME and work.event.get("type") == EventType.CancelRequestEvent:
            return self._cancellations.decide(partition, work)
        if work.lane is Lane.RESUME and work.event.get("type") == EventType.ApprovalResponseEvent:
            return self._approval(partition, work)
        if work.lane is Lane.RESUME and work.event.get("type") not in self._plan.answers:
            return self._continuation(partition, work)
        if self._plan.parks:
            return self._request(partition, work)
        return self._new_work(work)

    def _decode(self, record: Incoming) -> Mapping[str, Any]:
        event = jsonio.loads(self._codec.decode(record.value or b""), max_depth=jsonio.PARSER_DEPTH)
        if not isinstance(event, dict):
            raise jsonio.JsonError("expected a JSON object")
        return event

    def _new_work(self, work: Work) -> Task | Result:
        found = work.record.headers_by_name()
        given = found.get(headers.DEADLINE)
        root_id = found[headers.ROOT_ID].decode("utf-8", "replace") if headers.ROOT_ID in found else None
        deadline = headers.number(given, now_ms() + self._default_deadline_ms)
        asked = deadline if given is not None else None
        task = Task(
            work.event,
            deadline,
            None,
            work.record.key,
            asked_deadline=asked,
            root_id=root_id,
            record_headers=work.record.headers,
        )
        if self._plan.answers and deadline <= now_ms():
            return self._builder.handled(work, task, self._action.expired(task))
        return task

    def _request(self, partition: Partition, work: Work) -> Task | Result:
        """One end per request: an id that is in flight or parked is not started a second time."""
        request_id: str = work.event["id"]
        verdict = partition.parked.start(request_id, origin_of(work.record))
        if verdict is Verdict.NEW:
            work.request_id = request_id
            return self._cancellations.at_once(partition, work) or self._new_work(work)
        if verdict is Verdict.REPEAT:
            return self._builder.ignored(work, "repeated_request")
        message = f"request id {request_id!r} is in use by another request of this partition"
        return self._builder.dead(work, DlqReason.DUPLICATE_REQUEST_ID, message)

    def _continuation(self, partition: Partition, work: Work) -> Task | Result | None:
        attributes = work.event.get("attributes")
        waits_for = attributes.get("request_id") if isinstance(attributes, dict) else None
        request_id = partition.parked.waiting_for(str(waits_for), self._parent(work.record))
        if request_id is None:
            return self._nobodys(partition, work, "nobody_waits")
        if partition.parked.is_committing(request_id):
            partition.behind_commit.setdefault(request_id, []).append(work)
            return None
        return self._resume(partition, work, request_id)

    def _approval(self, partition: Partition, work: Work) -> Task | Result | None:
        """The token decides whose it is. It waits for what works on the request: a call that was approved before."""
        try:
            event = Event.parse(work.event)
        except EventError as error:
            return self._builder.dead(work, DlqReason.BAD_REQUEST, str(error))
        assert isinstance(event, ApprovalResponseEvent)
        token = Token.parse(event.token)
        if (token.action, token.partition) != (self._plan.name, partition.number):
            return self._builder.ignored(work, "unknown_approval")
        request_id = partition.parked.of_approval(token.secret, event.request_id)
        if request_id is None:
            return self._nobodys(partition, work, "unknown_approval")
        if request_id != event.request_id:
            return self._builder.ignored(work, "approval_of_another_request")
        if partition.parked.is_committing(request_id) or partition.parked.is_claimed(request_id):
            partition.behind_commit.setdefault(request_id, []).append(work)
            return None
        return self._resume(partition, work, request_id)

    def _parent(self, record: Incoming) -> str | None:
        """The request of this action that the record says it is for."""
        given = headers.as_dict(record.headers).get(headers.PARENT)
        subject, _, action = given.decode("utf-8", "replace").rpartition("/") if given is not None else ("", "", "")
        return subject if action == self._plan.name else None

    def _nobodys(self, partition: Partition, work: Work, why: str) -> Result | None:
        if partition.parked.is_indexed:
            return self._builder.ignored(work, why)
        partition.behind_index.append(work)
        return None

    def _resume(self, partition: Partition, work: Work, request_id: str) -> Task | Result:
        entry = partition.parked.claim(request_id)
        if entry is None:
            return self._builder.ignored(work, "claimed")
        work.request_id, work.started_from = request_id, entry.value
        parked = entry.record()
        return Task(work.event, parked.deadline, parked, work.record.key, asked_deadline=parked.deadline)

    def started(self, partition: Partition, held: Held, permit: Permit | None, steps: StepLog | None = None) -> Task:
        """The task as it starts now. The time of a request that names no deadline begins here, not in a queue."""
        task, now = held.task, now_ms()
        tried = partition.completion(held.work.lane).tried(held.work.record.offset)
        if task.asked_deadline is None:
            task.deadline = now + self._default_deadline_ms
        task.attempt = tried.attempts + 1 if tried is not None else 1
        task.since = tried.since * 1000 if tried is not None else now
        task.permit = permit
        task.state = held.work.state_from = partition.state.get(held.work.record.key)
        task.steps = steps
        return task

    def again(self, work: Work, task: Task) -> Task:
        """The task for another attempt: the one before may have changed its event."""
        work.event = self._decode(work.record)
        return replace(task, event=work.event)


def place(record: Incoming) -> str:
    """`topic/partition/offset`, for logs."""
    return f"{record.topic}/{record.partition}/{record.offset}"
