"""What is taken and not started: suspects first, then continuations; one record of a key at a time (DESIGN 7.1).

Used on the event loop only.
"""

import heapq
from collections import deque
from collections.abc import Iterable

from parkway.workers.assignment import Assignment, Partition
from parkway.workers.held_up import HeldUp
from parkway.workers.work import Lane, Work


class Queues:
    """The order in which works start. `by_key`: a key's next record waits until the one before is finished.

    Results commit in the order in which they are finished, so the order of a key's records is that of their effects.
    """

    def __init__(self, held_up: HeldUp, *, by_key: bool) -> None:
        self._held_up = held_up
        self._by_key = by_key
        self._lanes: dict[Lane, deque[Work]] = {lane: deque() for lane in Lane}
        self._suspects: dict[Lane, list[tuple[int, int, Work]]] = {lane: [] for lane in Lane}  # heaps: by urgency
        self._suspects_put = 0
        self._ready: deque[Work] = deque()  # their key came free
        self._holders: set[Work] = set()  # suspects whose key came free

    def suspects(self, lane: Lane) -> int:
        return len(self._suspects[lane])

    @property
    def has_suspects(self) -> bool:
        return any(self._suspects.values())

    def waiting(self, lane: Lane) -> int:
        """Taken and not started, less those behind a busy key."""
        ready = len(self._ready) if lane is Lane.NEW else 0
        return len(self._lanes[lane]) + len(self._suspects[lane]) + ready

    def put(self, work: Work) -> None:
        if work.urgency:
            self._put_suspect(work)
        else:
            self._lanes[work.lane].append(work)

    def put_first(self, works: Iterable[Work]) -> None:
        """Continuations that waited for a commit go before the others."""
        self._lanes[Lane.RESUME].extendleft(reversed(list(works)))

    def most_urgent(self, *, new_work: bool) -> int | None:
        """The urgency of what may start next, 0 for no suspect; None when there is nothing."""
        for lane in self._may_start(new_work=new_work):
            if self._suspects[lane]:
                return -self._suspects[lane][0][0]
        ready = self._ready or any(self._lanes[lane] for lane in self._may_start(new_work=new_work))
        return 0 if ready else None

    def next(self, assignment: Assignment, *, new_work: bool) -> Work | None:
        """The next work to start, which now holds its key; None when nothing may start."""
        while (work := self._pop(new_work=new_work)) is not None:
            if work in self._holders:
                self._holders.discard(work)
                return work
            if self.take_key(assignment.partitions[work.partition], work):
                return work
        return self._ready.popleft() if self._ready else None

    def _pop(self, *, new_work: bool) -> Work | None:
        """What is asked for its key next; None when there is nothing, or what is ready goes first."""
        lanes = self._may_start(new_work=new_work)
        for lane in lanes:
            if self._suspects[lane]:
                return heapq.heappop(self._suspects[lane])[2]
        if self._ready:
            return None
        for lane in lanes:
            if self._lanes[lane]:
                return self._lanes[lane].popleft()
        return None

    @staticmethod
    def _may_start(*, new_work: bool) -> tuple[Lane, ...]:
        return (Lane.RESUME, Lane.NEW) if new_work else (Lane.RESUME,)

    def _put_suspect(self, work: Work) -> None:
        self._suspects_put += 1
        heapq.heappush(self._suspects[work.lane], (-work.urgency, self._suspects_put, work))

    def take_key(self, partition: Partition, work: Work) -> bool:
        """False when the key is busy, and the work was put behind it."""
        key = work.record.key
        if not self._by_key or key is None:
            return True
        behind = partition.behind_key.get(key)
        if behind is None:
            partition.behind_key[key] = deque()
            return True
        behind.append(work)
        self._held_up.add(work)
        return False

    def release_key(self, partition: Partition, work: Work) -> None:
        """The work is finished: its key's next record is ready."""
        key = work.record.key
        if not self._by_key or key is None:
            return
        behind = partition.behind_key[key]
        if behind:
            ready = behind.popleft()
            self._held_up.remove(ready)
            if ready.urgency:
                self._holders.add(ready)
                self._put_suspect(ready)
            else:
                self._ready.append(ready)
        else:
            del partition.behind_key[key]

    def clear(self) -> None:
        """An epoch has ended: everything in it will be taken again."""
        for lane in self._lanes.values():
            lane.clear()
        for heap in self._suspects.values():
            heap.clear()
        self._holders.clear()
        self._ready.clear()
