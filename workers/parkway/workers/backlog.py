"""What a worker has taken and does not run, and which of it starts next (DESIGN 7.1). Used on the event loop only.

In this order: suspects (poison.py), what failed and is to be tried again, continuations, what waited for a limiter, new
work.
"""

from dataclasses import dataclass, replace
from typing import Final

from parkway.runtime import metrics
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.effects import Action
from parkway.workers.held import BackOff, Lines
from parkway.workers.held_up import HeldUp
from parkway.workers.limiter import Permit
from parkway.workers.queues import Queues
from parkway.workers.work import Held, Lane, Work

_LEAST_BUFFER: Final = 500
_FAILED_BUFFERS: Final = 10  # when everything fails, a worker does not run through all that is there


@dataclass(slots=True)
class Start:
    """A held work that may run now, with the permit it was waiting for. Never changed."""

    held: Held
    permit: Permit | None = None

    @property
    def work(self) -> Work:
        return self.held.work

    def drop(self) -> None:
        """It does not start after all, and will be taken again."""
        if self.permit is not None:
            self.permit.end()


class Backlog:
    """Bounded: `room` says how much more may be taken.

    Works behind a busy key or in back-off do not count there: a key that fails stops no others. They are `held_up`,
    whose bound is that of their partition. Only thousands that failed, each with a key of its own, stop all.
    """

    def __init__(
        self,
        action: Action,
        queues: Queues,
        lines: Lines,
        held_up: HeldUp,
        *,
        concurrency: int,
        max_open: int | None,
        max_awaiting: int | None = None,
    ) -> None:
        self._action = action
        self._queues = queues
        self._lines = lines
        self._held_up = held_up
        self._back_off = BackOff()
        self._buffer = max(_LEAST_BUFFER, 2 * concurrency)
        self._max_open = max_open
        self._max_awaiting = max_awaiting

    @property
    def is_quiet(self) -> bool:
        """Is there nothing that starts by itself, when its time has come?"""
        return not len(self._back_off) and not any(map(self._lines.waiting, Lane))

    def put(self, work: Work) -> None:
        self._queues.put(work)

    def put_first(self, works: list[Work]) -> None:
        """Continuations that waited for a commit go before the others."""
        self._queues.put_first(works)

    def take_key(self, partition: Partition, work: Work) -> None:
        """The work runs already."""
        self._queues.take_key(partition, work)

    def release_key(self, partition: Partition, work: Work) -> None:
        self._queues.release_key(partition, work)

    def put_off(self, held: Held, seconds: float) -> None:
        """A failed attempt: the work keeps its key and comes again after `seconds`."""
        self._back_off.put(held, seconds)
        self._held_up.add(held.work)

    def next(self, assignment: Assignment) -> Work | Start | None:
        """A work to dispatch, or one to start; None when nothing may."""
        new_work = self._may_start_new(assignment)
        if self._queues.has_suspects and self._queues.most_urgent(new_work=new_work):
            suspect = self._queues.next(assignment, new_work=new_work)
            if suspect is not None:
                return suspect
        due = self._back_off.due()
        if due is not None:
            self._held_up.remove(due.work)
            if (start := self.admit(due)) is not None:
                return start
        continuations = self._queues.waiting(Lane.RESUME) > 0
        permitted = self._lines.next(new_work=new_work and not continuations)
        if permitted is not None:
            return Start(*permitted)
        return self._queues.next(assignment, new_work=new_work)

    def most_urgent(self, assignment: Assignment) -> int | None:
        """The deaths that what may start next is suspected of, 0 for none; None when nothing is there."""
        urgency = self._queues.most_urgent(new_work=self._may_start_new(assignment))
        if urgency:
            return urgency
        held = self._lines.most_urgent(self._back_off.most_urgent())
        return held if held is not None else urgency

    def _may_start_new(self, assignment: Assignment) -> bool:
        if not assignment.caught_up():
            return False
        if self._max_awaiting is not None and assignment.awaiting_person() >= self._max_awaiting:
            return False
        return self._max_open is None or assignment.open_requests() - self._lines.waiting(Lane.NEW) < self._max_open

    def admit(self, held: Held) -> Start | None:
        """It may start at once, or joins the line of its limiter."""
        limiter = self._action.limiter(held.task)
        if limiter is None:
            return Start(held)
        self._lines.put(limiter, held)
        return None

    def remove_overdue(self, now_ms: int) -> list[Held]:
        """Take out what waits although the deadline that its record names has passed."""
        late = self._back_off.remove_overdue(now_ms)
        for held in late:
            self._held_up.remove(held.work)
        for limiter, held in self._lines.remove_overdue(now_ms):
            late.append(replace(held, task=replace(held.task, held_up_by=limiter.name)))
        return late

    def remove(self, partition: int, request_id: str) -> Work | None:
        """Take out the work that holds the claim of this request, if it waits here: it was cancelled."""
        return self._lines.remove(partition, request_id)

    def wait(self) -> float | None:
        """Seconds until a back-off ends; None when there is none."""
        return self._back_off.wait()

    def room_for_suspects(self) -> int:
        """How many more records may be taken until the suspects among them are there: others must not keep them out."""
        return self._buffer - self._queues.suspects(Lane.NEW)

    def room(self, lane: Lane) -> int:
        """How many more records of a lane may be taken."""
        room = self._buffer - self._queues.waiting(lane) - self._lines.waiting(lane)
        return min(room, _FAILED_BUFFERS * self._buffer - len(self._back_off)) if lane is Lane.NEW else room

    def waiting(self) -> int:
        """Records taken and not started. From any thread."""
        return len(self._held_up) + sum(self._queues.waiting(lane) + self._lines.waiting(lane) for lane in Lane)

    def clear(self) -> None:
        """An epoch has ended: everything in it will be taken again."""
        self._queues.clear()
        self._lines.clear()
        self._back_off.clear()
        self._held_up.clear()

    def expose(self, name: str) -> None:
        """Read when they are scraped, on another thread: sizes only."""
        metrics.BACK_OFF.labels(name).set_function(lambda: len(self._back_off))
        metrics.LIMITED.labels(name).set_function(lambda: sum(map(self._lines.waiting, Lane)))
