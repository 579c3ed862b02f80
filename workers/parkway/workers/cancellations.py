"""What a cancellation does to its request: ends it, waits for an outcome, or is remembered (DESIGN 7.2).

It takes the claim from a handler that runs and stops it: the record of that handler completes in the transaction that
carries the cancellation's end, and only there. A finished result is not taken back: its outcome comes first. A request
that is not there may still be queued, so the cancellation is remembered until its deadline.

Used on the event loop only.
"""

from collections.abc import Callable
from typing import Final

from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import EventType
from parkway.schemas.events import CancelRequestEvent, Event, EventError
from parkway.schemas.parked import ParkedCancellation, ParkedKind, parked_key
from parkway.schemas.tokens import Token
from parkway.workers.assignment import Partition
from parkway.workers.effects import Task
from parkway.workers.remembered import MOST
from parkway.workers.results import ResultBuilder
from parkway.workers.times import now_ms
from parkway.workers.work import Lane, Result, Work

# Stops the running handler of a request and gives its record; None when none runs.
Stop = Callable[[Partition, str], Work | None]

_TYPE: Final = EventType.CancelRequestEvent.encode()
_REASON_CHARACTERS: Final = 500  # what is remembered is in memory


class Cancellations:
    """Decides about the cancellations of one action."""

    def __init__(self, settings: Settings, action: str, build: str, builder: ResultBuilder, stop: Stop) -> None:
        self._longest_ms = int(settings.request_deadline * 1000)
        self._action = action
        self._build = build
        self._builder = builder
        self._stop = stop
        self._log = get_logger("worker").bind(action=action)

    def decide(self, partition: Partition, work: Work) -> Result | None:
        """A result to commit, or None: the work waits for the outcome of one that is finished already, or an index."""
        try:
            event = Event.parse(work.event)
        except EventError as error:
            return self._builder.dead(work, DlqReason.BAD_REQUEST, str(error))
        assert isinstance(event, CancelRequestEvent)
        # A token decides alone: who has one need not be trusted with ids.
        secret = Token.parse(event.token).secret if event.token is not None else None
        index = partition.parked
        request_id = event.request_id if secret is None else index.of_secret(secret)
        if request_id is not None and (index.is_claimed(request_id) or index.is_committing(request_id)):
            return self._take_over(partition, work, request_id, event.reason)
        entry = index.claim(request_id) if request_id is not None else None
        if request_id is None and not index.is_indexed:
            partition.behind_index.append(work)
            return None
        if request_id is None or entry is None:
            return self._remember(partition, work, event, secret)
        work.request_id, work.started_from = request_id, entry.value
        parked = entry.record()
        metrics.CANCELLED.labels(self._action, "parked").inc()
        return self._builder.cancelled(work, Task(work.event, parked.deadline, parked), event.reason)

    def at_once(self, partition: Partition, work: Work) -> Result | None:
        """The end of a request that comes now, if it was cancelled before it came."""
        assert work.request_id is not None
        secret = partition.parked.secret_of(work.request_id)
        remembered = partition.remembered.take(self._action, work.request_id, secret)
        if not remembered:
            return None
        reason = next(iter(remembered.values())).reason
        metrics.CANCELLED.labels(self._action, "queued").inc()
        task = Task(work.event, now_ms(), None, work.record.key)
        return self._builder.cancelled(work, task, reason, forgets=remembered)

    def _take_over(self, partition: Partition, work: Work, request_id: str, reason: str | None) -> Result | None:
        stopped = self._stop(partition, request_id)
        if stopped is None:
            partition.behind_commit.setdefault(request_id, []).append(work)
            return None
        work.request_id, work.started_from = request_id, stopped.started_from
        entry = partition.parked.entry(request_id)
        parked = entry.record() if entry is not None else None
        event = stopped.event if parked is None else work.event
        metrics.CANCELLED.labels(self._action, "running").inc()
        task = Task(event, parked.deadline if parked is not None else now_ms(), parked, stopped.record.key)
        return self._builder.cancelled(work, task, reason, cancels=stopped)

    def _remember(self, partition: Partition, work: Work, event: CancelRequestEvent, secret: str | None) -> Result:
        if partition.parked.has_ended(event.request_id, secret):
            return self._builder.ignored(work, "already_ended")
        if secret is not None:
            key = parked_key(secret, self._action, ParkedKind.CANCELLED_TOKEN)
        else:
            assert event.request_id is not None
            key = parked_key(event.request_id, self._action, ParkedKind.CANCELLED_ID)
        if key in partition.remembered:
            return self._builder.ignored(work, "already_cancelled")
        deadline = self._deadline(work.record)
        if deadline <= now_ms():
            return self._builder.ignored(work, "late_cancellation")
        cancellation = ParkedCancellation(
            build=self._build,
            action=self._action,
            request_id=event.request_id if secret is None else None,
            token=event.token,
            reason=_shortened(event.reason),
            deadline=deadline,
        )
        if not partition.remembered.has_room(cancellation):
            self._log.warning("cancellation_not_remembered", partition=partition.number, at_most=MOST)
            return self._builder.ignored(work, "too_many_cancellations")
        partition.remembered.add(key, cancellation)
        metrics.CANCELLED.labels(self._action, "not_here").inc()
        return self._builder.remembered(work, key, cancellation)

    def _deadline(self, record: Incoming) -> int:
        """Until when it is remembered (ms since 1970); nobody outside may fill the memory for longer than usual."""
        given = headers.as_dict(record.headers)
        longest = now_ms() + self._longest_ms
        wanted = headers.number(given.get(headers.DEADLINE), longest)
        return min(wanted, longest) if headers.EXTERNAL in given else wanted


def _shortened(reason: str | None) -> str | None:
    if reason is None or len(reason) <= _REASON_CHARACTERS:
        return reason
    return reason[: _REASON_CHARACTERS - 1] + "…"


def is_cancellation(work: Work) -> bool:
    """Is it one for this action's requests? By its header: nothing is decoded yet."""
    if work.lane is not Lane.RESUME:
        return False
    return any(
        name == headers.TYPE and value in (_TYPE, EventType.CancelRequestEvent) for name, value in work.record.headers
    )
