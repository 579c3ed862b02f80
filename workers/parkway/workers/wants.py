"""Back-pressure: how many more records a worker takes of each lane (DESIGN 7.1)."""

from collections.abc import Callable
from typing import Final

from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.backlog import Backlog
from parkway.workers.governor import Governor
from parkway.workers.held_up import HeldUp
from parkway.workers.in_hand import InHand
from parkway.workers.takers import ResumeTaker, Taker
from parkway.workers.work import Epoch, Lane

_NOTHING: Final[frozenset[int]] = frozenset()
# Of the offsets that a map may span. Apart: to take a partition up again costs up to a second.
_LEAST_ROOM: Final = 1 / 16
_ROOM_AGAIN: Final = 1 / 4
_SHARE_AGAIN: Final = 0.5  # of what the partition may hold up


class Wants:
    """Tells the consumer threads what there is room for. Used on the event loop only.

    State here: whether taking has stopped, and of which partitions nothing more is taken for now: their maps are nearly
    full (they span `largest_span` offsets at most), or too much waits behind their keys. They alone wait for that. The
    room for all follows from the backlog and the bytes in hand of the assignment in force (`current`; none: nothing is
    taken).
    """

    def __init__(
        self,
        action: str,
        group: Taker,
        resume: ResumeTaker | None,
        backlog: Backlog,
        in_hand: InHand,
        held_up: HeldUp,
        governor: Governor,
        *,
        current: Callable[[], Assignment | None],
        largest_span: int,
    ) -> None:
        self._takers: list[Taker] = [group] if resume is None else [group, resume]
        self._backlog = backlog
        self._in_hand = in_hand
        self._held_up = held_up
        self._governor = governor
        self._current = current
        self._largest_span = largest_span
        self._stopped = False
        self._epoch: Epoch | None = None
        self._full: dict[Lane, frozenset[int]] = dict.fromkeys(Lane, _NOTHING)  # partitions
        self._log = get_logger("worker").bind(action=action)
        self._exposed = metrics.HELD_UP_PARTITIONS.labels(action)
        self._exposed.set(0)

    def stop(self) -> None:
        """Take nothing any more."""
        self._stopped = True
        self.update()

    def update(self) -> None:
        """Something has changed that the room follows from."""
        assignment = self._current()
        self._begin(assignment.epoch if assignment is not None else None)
        for taker in self._takers:
            if assignment is None or self._stopped:
                taker.want(0, _NOTHING)
            else:
                self._find_full(assignment, taker.lane)
                taker.want(self._room(assignment, taker.lane), self._full[taker.lane])

    def _begin(self, epoch: Epoch | None) -> None:
        if epoch is not self._epoch:
            self._epoch = epoch
            self._full = dict.fromkeys(Lane, _NOTHING)
            self._exposed.set(0)

    def _room(self, assignment: Assignment, lane: Lane) -> int:
        fitting = self._in_hand.room(lane, self._held_up.beyond(lane))
        if not fitting:
            return 0
        behind = assignment.behind_commit() if lane is Lane.RESUME else 0
        room = self._backlog.room(lane) - behind
        if lane is Lane.NEW and self._governor.is_limited and assignment.awaits_suspects():
            room = self._backlog.room_for_suspects()
        taken = (one for number, one in assignment.partitions.items() if number not in self._full[lane])
        # All that is taken next may be of one partition.
        return min(min((one.completion(lane).room(self._largest_span) for one in taken), default=0), room, fitting)

    def _find_full(self, assignment: Assignment, lane: Lane) -> None:
        before = self._full[lane]
        full = frozenset(
            number
            for number, partition in assignment.partitions.items()
            if self._is_full(partition, lane, before=number in before)
        )
        if full == before:
            return
        self._full[lane] = full
        self._exposed.set(len(frozenset().union(*self._full.values())))
        self._log.info("partitions_held_up", lane=lane.value, partitions=sorted(full))

    def _is_full(self, partition: Partition, lane: Lane, *, before: bool) -> bool:
        room = partition.completion(lane).room(self._largest_span)
        if room < self._largest_span * (_ROOM_AGAIN if before else _LEAST_ROOM):
            return True
        if self._governor.is_limited and partition.awaits_suspects():
            return False  # what waits behind keys must not keep them out
        return self._held_up.share_used(lane, partition.number) >= (_SHARE_AGAIN if before else 1.0)
