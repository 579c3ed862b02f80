"""What a worker wants of whoever takes its records: a consumer's thread, or a log in memory (in tests).

Everything here is called on the event loop, and reports to a `consumer_thread.Listener`.
"""

from collections.abc import Sequence
from typing import Protocol

from parkway.workers.work import Epoch, Lane


class Taker(Protocol):
    """Takes the records of one lane, as far as they are wanted."""

    lane: Lane

    def start(self) -> None: ...

    def stop(self) -> None:
        """Take nothing any more; the group's leaves its group. Join afterwards, on another thread."""
        ...

    def join(self, timeout: float | None = None) -> None: ...

    def want(self, records: int, full: frozenset[int]) -> None:
        """How many more records the loop would take than it has heard of, of all partitions but those that are full."""
        ...

    def start_taking(self, epoch: Epoch, offsets: Sequence[tuple[int, int]]) -> None:
        """Fetch these (partition, offset) pairs, if that epoch is still on."""
        ...


class ResumeTaker(Taker, Protocol):
    """That of the continuations, which no group assigns."""

    async def end_epoch(self) -> None:
        """Returns when nothing is assigned any more."""
        ...
