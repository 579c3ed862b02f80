"""Request ids by the time at which they are overdue: those that are due are found without a look at the others."""

from heapq import heappop, heappush
from typing import Final

_TICK: Final = 100  # milliseconds that share a set: nothing is found later than that


class Deadlines:
    def __init__(self) -> None:
        self._ids: dict[int, set[str]] = {}  # tick -> what is due at it; an empty set goes when its tick has come
        self._ticks: list[int] = []  # a heap of its keys
        self._due: set[str] = set()

    def add(self, request_id: str, deadline: int) -> None:
        """`deadline` in milliseconds since 1970."""
        tick = _tick(deadline)
        ids = self._ids.get(tick)
        if ids is None:
            ids = self._ids[tick] = set()
            heappush(self._ticks, tick)
        ids.add(request_id)

    def discard(self, request_id: str, deadline: int) -> None:
        self._due.discard(request_id)
        ids = self._ids.get(_tick(deadline))
        if ids is not None:
            ids.discard(request_id)

    def due(self, now_ms: int) -> set[str]:
        """Every id whose deadline has passed, until it is discarded. Not to be changed."""
        while self._ticks and self._ticks[0] * _TICK <= now_ms:
            self._due |= self._ids.pop(heappop(self._ticks))
        return self._due


def _tick(deadline: int) -> int:
    return -(-deadline // _TICK)
