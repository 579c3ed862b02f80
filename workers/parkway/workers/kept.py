"""What was parked, and the state, on partitions that were revoked a moment ago (DESIGN 7.2).

`range` revokes everything for a moment, so the index of a partition is kept for a minute, and a restore of it reads
`<ns>.parked` only from where the index stands. It stands at the highest offset that this process knows the outcome
of: where its last restore ended, or what its own committed transactions were acknowledged at. Only the owner of a
partition writes records of this action to it, so up to there nothing of another is missing; what another owner
wrote in between lies behind, its tombstones too. After a minute the index is dropped: a tombstone is cleaned away some
time (`delete.retention.ms`), and memory is not for what is somewhere else.

Used on the event loop only. A restore changes the entries, on its thread. When it is cancelled they stay kept, as of
the same offset: what is read again from there leads to the same.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from parkway.runtime.logs import get_logger
from parkway.schemas.parked import ParkedCancellation
from parkway.workers.entry_store import EntryStore
from parkway.workers.state_store import StateStore
from parkway.workers.step_store import StepStore

KEPT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Kept:
    """The entries of one partition as of offset `upto` of `<ns>.parked`: everything below it is in them."""

    entries: EntryStore
    upto: int
    cancellations: Mapping[bytes, ParkedCancellation] = field(default_factory=dict)
    steps: StepStore = field(default_factory=StepStore)
    state: StateStore = field(default_factory=StateStore)
    state_upto: int = 0  # of `<ns>.state`


class KeptIndexes:
    """At most `largest` bytes of memory, the oldest go first."""

    def __init__(self, action: str, largest: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._largest = largest
        self._clock = clock
        self._kept: dict[int, tuple[float, int, Kept]] = {}  # partition -> since when, bytes; the oldest first
        self._log = get_logger("kept").bind(action=action)

    def keep(self, partition: int, kept: Kept) -> None:
        """Its assignment has ended; nothing of it is in a transaction any more."""
        self.forget([partition])
        self._kept[partition] = (self._clock(), kept.entries.resident_bytes + kept.state.resident_bytes, kept)
        while self.bytes() > self._largest:
            oldest = next(iter(self._kept))
            self._log.info("index_not_kept", partition=oldest, reason="kept_bytes", bytes=self._kept[oldest][1])
            self.forget([oldest])

    def of(self, partitions: Collection[int]) -> dict[int, Kept]:
        """What is still kept of these."""
        self.expire()
        return {partition: self._kept[partition][2] for partition in partitions if partition in self._kept}

    def forget(self, partitions: Collection[int]) -> None:
        for partition in partitions:
            self._kept.pop(partition, None)

    def clear(self) -> None:
        self._kept.clear()

    def expire(self) -> None:
        """Drop what is older than a minute."""
        old = self._clock() - KEPT_SECONDS
        self.forget([partition for partition, (since, _, _) in self._kept.items() if since <= old])

    def bytes(self) -> int:
        return sum(size for _, size, _ in self._kept.values())
