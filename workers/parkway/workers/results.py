"""From an action's effects to a result: the records, and what becomes of the request in the parked index."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from parkway.runtime import metrics
from parkway.runtime.codec import EventCodec
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming, Record
from parkway.runtime.settings import Settings
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import REQUEST_TYPES, EventType
from parkway.schemas.events import CancelRequestEvent, Event
from parkway.schemas.parked import ParkedCancellation, parked_key
from parkway.schemas.plan import Plan
from parkway.schemas.state import StateRecord
from parkway.workers.effects import (
    Action,
    Effects,
    Failure,
    Park,
    ParkedTooLargeError,
    PoisonError,
    Task,
    UndeliverableError,
)
from parkway.workers.entry import BrokenEntry, Entry
from parkway.workers.journal import Journal
from parkway.workers.outbox import Cause, Outbox
from parkway.workers.parking import approval_requests, parked_record
from parkway.workers.poison import Conviction
from parkway.workers.work import Epoch, Result, Work


class ResultBuilder:
    """Builds the results of one action. Event ids are fixed here: producing a result again gives the same records."""

    def __init__(self, settings: Settings, plan: Plan, action: Action, codec: EventCodec, journal: Journal) -> None:
        self._settings = settings
        self._plan = plan
        self._action = action
        self._outbox = Outbox(
            settings.topics, action.name, codec, route_external_responses=plan.route_external_responses
        )
        self._journal = journal
        self._tools = _cancellable_tools(plan)
        self._log = get_logger("worker").bind(action=action.name)

    @property
    def build(self) -> str:
        """The plan's, which every parked record carries."""
        return self._plan.build

    def parked(self, partition: int, key: bytes, value: bytes | None) -> Record:
        """A record of `<ns>.parked`."""
        return self._outbox.parked(partition, key, value)

    def handled(self, work: Work, task: Task, effects: Effects) -> Result:
        """What a handler gave back for a record."""
        result = Result(work.epoch, work.partition, work, task, again=effects.again)
        if effects.again is not None:
            return result
        if effects.nothing:
            self._end(result, work.request_id)
            return result
        cause = self._cause(result, task)
        try:
            self._fill(result, cause, effects, work.request_id)
        except ParkedTooLargeError as error:
            self._fill(result, cause, self._action.failed(task, error), work.request_id)
        return result

    def swept(self, epoch: Epoch, partition: int, request_id: str, task: Task) -> Result:
        """The end of a parked request whose time is over."""
        assert task.parked is not None
        result = Result(epoch, partition, None, task, abandons=task.parked.waits_for or None)
        self._fill(result, self._cause(result, task), self._action.expired(task), request_id)
        return result

    def cancelled(
        self, work: Work, task: Task, reason: str | None, *, cancels: Work | None = None, forgets: Iterable[bytes] = ()
    ) -> Result:
        """The end of a request by a cancellation.

        `work` is the cancellation, and `cancels` the record whose handler it has stopped, if one ran; or it is the
        request itself, which a remembered cancellation (`forgets`) was waiting for.
        """
        result = Result(work.epoch, work.partition, work, task, cancels, tuple(forgets))
        if task.parked is not None and cancels is None:
            result.abandons = task.parked.waits_for or None
        self._fill(result, self._cause(result, task), self._action.cancelled(task, reason), work.request_id)
        return result

    def remembered(self, work: Work, key: bytes, cancellation: ParkedCancellation) -> Result:
        """A cancellation whose request has not come yet."""
        result = Result(work.epoch, work.partition, work)
        result.records = [self._outbox.parked(work.partition, key, cancellation.to_json())]
        return result

    def forgotten(self, epoch: Epoch, partition: int, key: bytes) -> Result:
        """The end of a remembered cancellation whose request has not come in time."""
        return Result(epoch, partition, None, records=[self._outbox.parked(partition, key, None)])

    def ignored(self, work: Work, reason: str) -> Result:
        """A record that is completed without effect."""
        record = work.record
        metrics.IGNORED.labels(self._action.name, reason).inc()
        origin = f"{record.topic}/{record.partition}/{record.offset}"
        self._log.info("record_ignored", reason=reason, origin=origin)
        return Result(work.epoch, work.partition, work)

    def convicted(self, work: Work, task: Task, conviction: Conviction) -> Result:
        """The end of a record that died alone: its failed response, or the DLQ where there is none."""
        effects = self._action.failed(task, PoisonError(str(conviction)))
        if effects.failure is not None:
            return self.dead(work, DlqReason.POISON, str(conviction), task, attempts=conviction.deaths)
        return self.handled(work, task, effects)

    def dead(
        self, work: Work, reason: DlqReason, message: str, task: Task | None = None, *, attempts: int = 1
    ) -> Result:
        """A record that no handler can take, or whose failure could not be written."""
        result = Result(work.epoch, work.partition, work, task)
        result.records = [self._outbox.dead_letter(work.record, reason, message, attempts)]
        self._end(result, work.request_id)
        return result

    def unusable(self, epoch: Epoch, partition: int, request_id: str, value: bytes, reason: str) -> Result:
        """A parked record that decodes, and cannot be ended: the DLQ, and its tombstone."""
        key = parked_key(request_id, self._action.name)
        result = self.broken(epoch, partition, BrokenEntry(key, value, -1, reason))
        result.ends = request_id
        return result

    def broken(self, epoch: Epoch, partition: int, entry: BrokenEntry) -> Result:
        """A parked record that cannot be decoded."""
        place = Incoming(self._settings.topics.parked, partition, entry.offset, 0, entry.key, entry.value, [])
        result = Result(epoch, partition, None)
        result.records = [
            self._outbox.dead_letter(place, DlqReason.PARKED_UNREADABLE, entry.reason, 1),
            self._outbox.parked(partition, entry.key, None),
        ]
        return result

    def undeliverable(self, result: Result, message: str) -> bool:
        """Replace what Kafka refused: by the failed response, then a dead letter, then one without its value.

        Returns False when even that was refused.
        """
        result.refusals += 1
        if result.recording is not None:
            result.recording.refuse(message)
            result.records, result.recording = [], None
            return True
        work, task = result.work, result.task
        request_id = result.ends or (result.upsert[0] if result.upsert is not None else None)
        result.upsert = None
        if result.refusals == 1 and task is not None:
            # It may be the reply topic that is gone: the failed response goes to `outputs`.
            cause = replace(self._cause(result, task), reply_to=None)
            self._fill(result, cause, self._action.failed(task, UndeliverableError(message)), request_id)
            return True
        source = result.cancels or work
        record = source.record if source is not None else self._parked_record(result)
        if record is None or result.refusals > 3:
            return False
        if result.refusals == 3:
            record = replace(record, value=None, headers=[])
        result.records = [self._outbox.dead_letter(record, DlqReason.UNDELIVERABLE, message, 1)]
        self._end(result, request_id)
        return True

    def _cause(self, result: Result, task: Task) -> Cause:
        if task.parked is not None:
            event = result.work.event if result.work is not None else task.event
            cause = Cause.of_parked(task.parked, result.partition, event)
        else:
            cause = Cause.of_record(_record_of(result), task.event)
        span = result.work.traceparent if result.work is not None else None
        return cause.in_span(span) if span is not None else cause

    def _parked_record(self, result: Result) -> Incoming | None:
        """What a sweep works on, as a record: for the DLQ."""
        parked = result.task.parked if result.task is not None else None
        if parked is None:
            return None
        key = parked_key(parked.request_id, self._action.name)
        return Incoming(self._settings.topics.parked, result.partition, -1, 0, key, parked.to_json(), [])

    def _fill(self, result: Result, cause: Cause, effects: Effects, request_id: str | None) -> None:
        task = result.task
        assert task is not None
        parent = None
        if effects.park is not None and request_id is not None:
            parent = parked_key(request_id, self._action.name)
        result.records = [
            self._outbox.event(cause, event, _deadline(event, effects, task), parent) for event in effects.events
        ]
        result.records += [self._outbox.output(cause, event) for event in effects.outputs]
        result.records += [self._outbox.payload(cause, payload) for payload in effects.payloads]
        result.state = None
        if effects.state is not None and (effects.state or task.state is not None):
            self._keep_state(result, effects.state)
        if effects.journal:
            entries = self._journal.records(cause, effects.journal)
            result.records += [self._outbox.journal(cause, entry) for entry in entries]
        result.how = effects.how()
        if effects.response is not None:
            result.records.append(self._outbox.response(cause, effects.response))
        if effects.failure is not None:
            result.records.append(self._failure(result, effects.failure))
        if effects.park is not None:
            assert request_id is not None, "only a request can be parked"
            self._park(result, cause, task, effects.park)
            return
        self._end(result, request_id)
        if result.abandons is not None and self._tools is not None:
            cancel = CancelRequestEvent(request_id=result.abandons, action=self._tools)
            result.records.append(self._outbox.event(cause, cancel, task.deadline))

    def _keep_state(self, result: Result, state: dict[str, Any]) -> None:
        record = _record_of(result)
        assert record.key is not None, "there is no state without a key"
        value = None
        if state:
            place = f"{record.topic}/{record.partition}/{record.offset}"
            value = StateRecord(
                build=self._plan.build, action=self._action.name, written_by=place, state=state
            ).to_json()
        result.records.append(self._outbox.state(result.partition, record.key, value))
        result.state = (record.key, value)

    def _failure(self, result: Result, failure: Failure) -> Record:
        content = self._settings.capture_content
        message = failure.message if content or failure.plain is None else failure.plain
        return self._outbox.dead_letter(
            _record_of(result), failure.reason, message, failure.attempts, failure.traceback if content else None
        )

    def _end(self, result: Result, request_id: str | None) -> None:
        if request_id is None:
            return
        result.ends = request_id
        if result.task is None or result.task.parked is not None:  # without a task nobody knows: better one too many
            key = parked_key(request_id, self._action.name)
            result.records.append(self._outbox.parked(result.partition, key, None))
        result.records += [self._outbox.parked(result.partition, key, None) for key in result.forgets]

    def _park(self, result: Result, cause: Cause, task: Task, park: Park) -> None:
        record = _record_of(result) if task.parked is None else None
        parked = parked_record(self._plan.build, self._action.name, result.partition, cause, task, park, record)
        value = parked.to_json()
        if len(value) > self._settings.max_parked_bytes:
            raise ParkedTooLargeError(
                f"the parked record would have {len(value)} bytes, the limit is "
                f"{self._settings.max_parked_bytes} (max_parked_bytes)"
            )
        for event in approval_requests(parked, park):
            result.records += self._outbox.approval_request(cause, event, park.deadline)
        key = parked_key(parked.request_id, self._action.name)
        result.records.append(self._outbox.parked(result.partition, key, value))
        result.upsert = (parked.request_id, Entry.of(parked, value))


def _deadline(event: Event, effects: Effects, task: Task) -> int | None:
    """What is done in a request's name ends with it; a request that a user action sends, with the event it is for."""
    if effects.park is not None:
        return effects.park.deadline
    return task.asked_deadline if event.type in REQUEST_TYPES else None


def _record_of(result: Result) -> Incoming:
    """The record that is handled: of a cancelled first call the request's, not the cancellation's."""
    work = result.cancels or result.work
    assert work is not None, "a sweep has no record"
    return work.record


def _cancellable_tools(plan: Plan) -> str | None:
    """The action that runs tools, if cancellations can reach it."""
    runs = (action.name for action in plan.actions if EventType.ToolRequestEvent in action.answers)
    return next((name for name in runs if name in plan.cancellable), None)
