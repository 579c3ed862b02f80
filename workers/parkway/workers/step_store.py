"""The committed steps of one partition's records, of one action: records of their own in `<ns>.parked` (DESIGN 7.2).

They are few: only records that have not ended have any. Used by one thread at a time: by a restore's, then on the
event loop.
"""

from collections.abc import Iterable, Iterator

from parkway.schemas.parked import ParkedStep


class StepStore:
    """By the offset of the record in the action's topic, and the step's name."""

    def __init__(self) -> None:
        self._steps: dict[int, dict[str, ParkedStep]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._steps.values()))

    def offsets(self) -> Iterator[int]:
        return iter(self._steps)

    def of(self, offset: int) -> dict[str, ParkedStep]:
        """What is committed of one record, by name."""
        return self._steps.get(offset, {})

    def put(self, offset: int, name: str, step: ParkedStep | None) -> None:
        """A committed record; None is its tombstone."""
        if step is not None:
            self._steps.setdefault(offset, {})[name] = step
        elif name in (steps := self.of(offset)):
            del steps[name]
            if not steps:
                del self._steps[offset]

    def forget(self, offsets: Iterable[int]) -> None:
        """These records have ended, and their tombstones are committed."""
        if self._steps:
            for offset in offsets:
                self._steps.pop(offset, None)
