"""How many bytes an action holds of records that it has taken and not completed: what bounds its memory.

Each lane for itself: new work that waits for `max_open` must not keep the continuations out that it waits for. Used on
the event loop only.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from parkway.runtime.records import Incoming
from parkway.workers.work import Lane, Work

_AROUND: Final = 1_000  # bytes of a record's objects: 730 to 1,400 measured (CPython 3.11), with two to six headers
_UNSEEN: Final = 64 * 1024  # bytes of a record, before one was seen


def size_of(record: Incoming) -> int:
    """What a taken record has in memory, about."""
    return _AROUND + len(record.value or b"") + len(record.key or b"")


class InHand:
    """A lane has room up to `largest` bytes; what a consumer thread has taken meanwhile comes on top."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._usual = dict.fromkeys(Lane, _UNSEEN)  # bytes of a record
        self._sizes: dict[Lane, dict[tuple[int, int], int]] = {lane: {} for lane in Lane}  # by partition and offset
        self._bytes = dict.fromkeys(Lane, 0)

    def add(self, work: Work) -> None:
        """Taken, or adopted."""
        size = size_of(work.record)
        self._sizes[work.lane][work.partition, work.record.offset] = size
        self._bytes[work.lane] += size

    def completed(self, completed: Mapping[int, Mapping[Lane, Iterable[int]]]) -> None:
        """Committed: offsets by partition and lane."""
        for partition, lanes in completed.items():
            for lane, offsets in lanes.items():
                for offset in offsets:
                    self._bytes[lane] -= self._sizes[lane].pop((partition, offset), 0)

    def room(self, lane: Lane, beyond: int = 0) -> int:
        """How many more records there is room for, should they be of the usual size: at least one, or none.

        `beyond` bytes in hand are of those who may have no more, and keep nobody else out: as many again as there are
        for all, at most.
        """
        held, records = self._bytes[lane], len(self._sizes[lane])
        if records:
            self._usual[lane] = held // records
        free = self._largest + min(beyond, self._largest) - held
        return 1 + free // self._usual[lane] if free > 0 else 0

    def bytes(self, lane: Lane) -> int:
        return self._bytes[lane]

    def clear(self) -> None:
        """An epoch has ended: what is not adopted will be taken again."""
        for lane in Lane:
            self._sizes[lane].clear()
            self._bytes[lane] = 0
