"""What is taken and not started: continuations first, and one record of a key at a time (DESIGN 7.1).

Used on the event loop only.
"""

from collections import deque
from collections.abc import Iterable

from parkway.workers.assignment import Assignment, Partition
from parkway.workers.work import Lane, Work


class Queues:
    """The order in which works start. `by_key`: a key's next record waits until the one before is finished.

    Results commit in the order in which they are finished, so the order of a key's records is that of their effects.
    """

    def __init__(self, *, by_key: bool) -> None:
        self._by_key = by_key
        self._lanes: dict[Lane, deque[Work]] = {lane: deque() for lane in Lane}
        self._ready: deque[Work] = deque()  # their key came free
        self._behind_keys = 0

    def waiting(self, lane: Lane) -> int:
        """Taken and not started, less those behind a busy key."""
        return len(self._lanes[lane]) + (len(self._ready) if lane is Lane.NEW else 0)

    @property
    def behind_keys(self) -> int:
        """Works that wait for the work before them."""
        return self._behind_keys

    def put(self, work: Work) -> None:
        self._lanes[work.lane].append(work)

    def put_first(self, works: Iterable[Work]) -> None:
        """Continuations that waited for a commit go before the others."""
        self._lanes[Lane.RESUME].extendleft(reversed(list(works)))

    def next(self, assignment: Assignment, *, new_work: bool) -> Work | None:
        """The next work to start, which now holds its key; None when nothing may start."""
        if self._ready:
            return self._ready.popleft()
        while True:
            if self._lanes[Lane.RESUME]:
                work = self._lanes[Lane.RESUME].popleft()
            elif self._lanes[Lane.NEW] and new_work:
                work = self._lanes[Lane.NEW].popleft()
            else:
                return None
            if self.take_key(assignment.partitions[work.partition], work):
                return work

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
        self._behind_keys += 1
        return False

    def release_key(self, partition: Partition, work: Work) -> None:
        """The work is finished: its key's next record is ready."""
        key = work.record.key
        if not self._by_key or key is None:
            return
        behind = partition.behind_key[key]
        if behind:
            self._behind_keys -= 1
            self._ready.append(behind.popleft())
        else:
            del partition.behind_key[key]

    def clear(self) -> None:
        """An epoch has ended: everything in it will be taken again."""
        for lane in self._lanes.values():
            lane.clear()
        self._ready.clear()
        self._behind_keys = 0
