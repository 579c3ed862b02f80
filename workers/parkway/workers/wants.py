"""Back-pressure: how many more records a worker takes of each lane (DESIGN 7.1)."""

from collections.abc import Callable

from parkway.workers.assignment import Assignment
from parkway.workers.backlog import Backlog
from parkway.workers.governor import Governor
from parkway.workers.in_hand import InHand
from parkway.workers.takers import ResumeTaker, Taker
from parkway.workers.work import Lane


class Wants:
    """Tells the consumer threads what there is room for. Used on the event loop only.

    State here: whether taking has stopped. The room follows from the backlog, the bytes in hand, and the maps of the
    assignment in force (`current`; none: nothing is taken), which span `largest_span` offsets at most.
    """

    def __init__(
        self,
        group: Taker,
        resume: ResumeTaker | None,
        backlog: Backlog,
        in_hand: InHand,
        governor: Governor,
        *,
        current: Callable[[], Assignment | None],
        largest_span: int,
    ) -> None:
        self._group = group
        self._resume = resume
        self._backlog = backlog
        self._in_hand = in_hand
        self._governor = governor
        self._current = current
        self._largest_span = largest_span
        self._stopped = False

    def stop(self) -> None:
        """Take nothing any more."""
        self._stopped = True
        self.update()

    def update(self) -> None:
        """Something has changed that the room follows from."""
        self._group.want(self._room(Lane.NEW))
        if self._resume is not None:
            self._resume.want(self._room(Lane.RESUME))

    def _room(self, lane: Lane) -> int:
        assignment = self._current()
        if assignment is None or self._stopped or self._in_hand.full(lane):
            return 0
        behind = assignment.behind_commit() if lane is Lane.RESUME else 0
        room = self._backlog.room(lane) - behind
        if lane is Lane.NEW and self._governor.is_limited and assignment.awaits_suspects():
            room = self._backlog.room_for_suspects()
        return min(assignment.room(lane, self._largest_span), room)
