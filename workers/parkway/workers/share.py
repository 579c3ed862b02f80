"""The part of an installation's limits that a worker may use: that of the partitions it owns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """`owned` partitions of `total`. All shares of an installation add up to 1, so scaling out multiplies nothing."""

    owned: frozenset[int]
    total: int

    @property
    def fraction(self) -> float:
        return len(self.owned) / self.total

    def places(self, limit: int) -> int:
        """This share of `limit` places, as whole numbers that add up; at least one, or its partitions would stand."""
        if not self.owned:
            return 0
        every, left = divmod(limit, self.total)
        return max(1, every * len(self.owned) + sum(number < left for number in self.owned))


NOTHING = Share(frozenset(), 1)
