"""How far the partitions of one assignment are, and which plan their committed offsets name."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from confluent_kafka import TopicPartition

from parkway.runtime.plan_mark import PlanMark, read_mark

Place = tuple[str, int]  # topic and partition


class Epoch:
    """One assignment: what is committed for it carries the group metadata captured when it began."""

    def __init__(self, metadata: Any, partitions: Sequence[TopicPartition]) -> None:
        self.metadata = metadata
        self.partitions = tuple(partitions)
        self._stamp = secrets.token_hex(4)
        self._numbers = count(1)

    def offsets(self, nexts: Mapping[Place, int], plan: str) -> list[TopicPartition]:
        """What one transaction commits, under a mark that no other transaction has."""
        mark = str(PlanMark(plan, self._stamp, next(self._numbers)))
        return [TopicPartition(topic, partition, offset, mark) for (topic, partition), offset in nexts.items()]


class Progress:
    """Offsets that are committed, or sent in a transaction that will be. Used on the consumer's thread only.

    `committed`: of every partition of the assignment, with explicit offsets; `plan`: the build in force.
    """

    def __init__(self, committed: Iterable[TopicPartition], plan: str) -> None:
        self._nexts: dict[Place, int] = {}
        self._unmarked: set[Place] = set()  # their commits name another plan, or none
        for one in committed:
            place = (one.topic, one.partition)
            self._nexts[place] = one.offset
            mark = read_mark(one.metadata)
            if mark is None or mark.plan != plan:
                self._unmarked.add(place)

    def swap_plan(self) -> None:
        """Another plan is in force: the next commit says so for every partition."""
        self._unmarked.update(self._nexts)

    def advance(self, nexts: Mapping[Place, int]) -> dict[Place, int]:
        """What the next transaction commits: `nexts`, and the offsets that do not name the plan in force yet."""
        self._nexts.update(nexts)
        commits = {**{place: self._nexts[place] for place in self._unmarked}, **nexts}
        self._unmarked.clear()
        return commits

    def advance_idle(self, positions: Iterable[TopicPartition]) -> dict[Place, int]:
        """As `advance`, for positions that have passed control records; empty when nothing is to be committed."""
        moved = {
            (one.topic, one.partition): one.offset
            for one in positions
            if one.offset > self._nexts[one.topic, one.partition]
        }
        return self.advance(moved) if moved or self._unmarked else {}
