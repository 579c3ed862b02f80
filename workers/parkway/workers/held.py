"""Works that were dispatched and wait: for the end of a back-off, or for a limiter. They run nothing and hold no slot.

A work in back-off, or one that waits for an action's own rate, keeps its key. Used on the event loop only.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from parkway.runtime import metrics
from parkway.workers.bucket import Clock
from parkway.workers.limiter import Limiter, Permit
from parkway.workers.times import monotonic
from parkway.workers.work import Held, Lane, Work

_LANES: Final = (Lane.RESUME, Lane.NEW)


class BackOff:
    """Works whose attempt failed, by the time of their next one."""

    def __init__(self, clock: Clock = monotonic) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Held]] = []
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, held: Held, seconds: float) -> None:
        heapq.heappush(self._heap, (self._clock() + seconds, next(self._order), held))

    def due(self) -> Held | None:
        """Take the next one whose time has come."""
        if self._heap and self._heap[0][0] <= self._clock():
            return heapq.heappop(self._heap)[2]
        return None

    def most_urgent(self) -> int | None:
        """The urgency of the one that is due; None when none is."""
        if self._heap and self._heap[0][0] <= self._clock():
            return self._heap[0][2].work.urgency
        return None

    def wait(self) -> float | None:
        """Seconds until the next one is due; None when there is none."""
        return max(0.0, self._heap[0][0] - self._clock()) if self._heap else None

    def remove_overdue(self, now_ms: int) -> list[Held]:
        """Take out those whose own deadline has passed."""
        overdue = [held for _, _, held in self._heap if _is_overdue(held, now_ms)]
        if overdue:
            self._heap = [entry for entry in self._heap if entry[2] not in overdue]
            heapq.heapify(self._heap)
        return overdue

    def clear(self) -> None:
        self._heap.clear()


class Line:
    """Works that wait for one limiter: continuations first, each lane in its order."""

    def __init__(self) -> None:
        self.lanes: dict[Lane, deque[tuple[float, Held]]] = {lane: deque() for lane in Lane}
        self.may_move = True  # is asking the limiter worth while?

    def __len__(self) -> int:
        return sum(map(len, self.lanes.values()))


class Lines:
    """A line per limiter. `wake` is called when one of them may move."""

    def __init__(self, wake: Callable[[], None], clock: Clock = monotonic) -> None:
        self._wake = wake
        self._clock = clock
        self._lines: dict[Limiter, Line] = {}

    def waiting(self, lane: Lane) -> int:
        """From any thread."""
        return sum(len(line.lanes[lane]) for line in list(self._lines.values()))

    def most_urgent(self, other: int | None) -> int | None:
        """The urgency of the first of those whose limiter may let them go, or `other` when that is more."""
        first = [
            waiting[0][1].work.urgency
            for line in self._lines.values()
            if line.may_move
            for waiting in line.lanes.values()
            if waiting
        ]
        return max([*first, other] if other is not None else first, default=None)

    def put(self, limiter: Limiter, held: Held) -> None:
        line = self._lines.setdefault(limiter, Line())
        line.lanes[held.work.lane].append((self._clock(), held))

    def next(self, *, new_work: bool) -> tuple[Held, Permit] | None:
        """Take the first work that gets a permit."""
        for limiter, line in list(self._lines.items()):
            lane = next((lane for lane in _LANES if line.lanes[lane] and (new_work or lane is Lane.RESUME)), None)
            if lane is None or not line.may_move:
                continue
            permit = limiter.try_take()
            if permit is None:
                self._sleep(limiter, line)
                continue
            since, held = line.lanes[lane].popleft()
            if not line:
                del self._lines[limiter]
            metrics.LIMIT_WAIT.labels(limiter.name).observe(self._clock() - since)
            return held, permit
        return None

    def remove_overdue(self, now_ms: int) -> Iterator[tuple[Limiter, Held]]:
        """Take out those whose own deadline has passed."""
        for limiter, line in list(self._lines.items()):
            for lane, waiting in line.lanes.items():
                overdue = [held for _, held in waiting if _is_overdue(held, now_ms)]
                if overdue:
                    line.lanes[lane] = deque(entry for entry in waiting if entry[1] not in overdue)
                    yield from ((limiter, held) for held in overdue)

    def remove(self, partition: int, request_id: str) -> Work | None:
        """Take out the work that holds the claim of this request."""
        for waiting in (line.lanes[lane] for line in self._lines.values() for lane in Lane):
            for entry in waiting:
                work = entry[1].work
                if work.partition == partition and work.request_id == request_id:
                    waiting.remove(entry)
                    return work
        return None

    def clear(self) -> None:
        self._lines.clear()

    def _sleep(self, limiter: Limiter, line: Line) -> None:
        line.may_move = False

        def wake() -> None:
            line.may_move = True
            self._wake()

        limiter.when_free(wake)


def _is_overdue(held: Held, now_ms: int) -> bool:
    deadline = held.task.asked_deadline
    return deadline is not None and deadline <= now_ms
