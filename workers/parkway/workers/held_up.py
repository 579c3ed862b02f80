"""What waits behind keys: how many bytes, and of which partition (DESIGN 7.1). Used on the event loop only.

A record that runs keeps its key, and so does one that failed and waits for its next attempt. What is behind it starts
no sooner for being taken sooner. So a partition may hold up as many bytes as are still free: one alone half of what may
be held up at all, two a third each. Nothing more is taken of it then, and the others always have room.

What waits for a free handler is taken before anybody knows that its key will be busy, so it can be more than that. What
is held up beyond its bound does not count against the others.
"""

from typing import Final

from parkway.workers.in_hand import size_of
from parkway.workers.work import Lane, Work

_SHARE: Final = 0.75  # of the bytes in hand; the rest is for what starts at once
_LEAST: Final = 1 / 256  # of what may be held up: a partition has that at least, whatever the others hold up


class HeldUp:
    """The works that wait behind a busy key, or for a back-off to end. Each lane for itself, as in `InHand`.

    Of `buffer` bytes in hand.
    """

    def __init__(self, buffer: int) -> None:
        self._largest = int(buffer * _SHARE)
        self._works = 0
        self._total = dict.fromkeys(Lane, 0)
        self._bytes: dict[tuple[Lane, int], int] = {}  # by lane and partition

    def __len__(self) -> int:
        """Works. From any thread."""
        return self._works

    def add(self, work: Work) -> None:
        """It begins to wait."""
        self._change(work, 1)

    def remove(self, work: Work) -> None:
        """It waits no more."""
        self._change(work, -1)

    def _change(self, work: Work, by: int) -> None:
        place, size = (work.lane, work.partition), by * size_of(work.record)
        self._works += by
        self._total[work.lane] += size
        self._bytes[place] = self._bytes.get(place, 0) + size

    def share_used(self, lane: Lane, partition: int) -> float:
        """How much of what this partition may hold up now is held up: from 1 on it should have no more."""
        held = self._bytes.get((lane, partition), 0)
        return held / max(1, self._largest * _LEAST, self._largest - self._total[lane]) if held else 0.0

    def beyond(self, lane: Lane) -> int:
        """Bytes that are held up in spite of that."""
        return max(0, self._total[lane] - self._largest)

    def clear(self) -> None:
        """An epoch has ended."""
        self._works = 0
        self._total = dict.fromkeys(Lane, 0)
        self._bytes.clear()
