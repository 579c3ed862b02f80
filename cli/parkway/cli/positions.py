"""How far a consumer group of ours is: its committed offsets, and the maps of what is completed above them.

The group's offset lag alone counts what is completed already: records complete in any order (DESIGN 7.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.cli.parked_topic import answered
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.log_offsets import high_watermarks, log_beginnings
from parkway.runtime.log_reader import Place
from parkway.runtime.settings import Settings
from parkway.runtime.topology import topic_ids
from parkway.workers.completion import Completion

_ASK: Final = 2.0
_PATIENCE: Final = 45.0  # a dead process's transaction holds its offsets back for its timeout, and 10 s


class Standing(Enum):
    """Of one record, as the group's newest commit tells it."""

    DONE = "done"
    TAKEN = "taken"  # some process has it in hand, or had it when it died: it is not completed
    WAITING = "waiting"  # nothing that is committed says that it was taken


@dataclass(frozen=True, slots=True)
class Position:
    """Of a group in one partition: it holds the offsets [begin, end).

    `base`: everything below is completed. `reach`: what is completed in [base, reach) is known, `open` is not of it;
    nothing from `reach` on is completed.
    """

    begin: int
    end: int
    base: int
    reach: int
    open: frozenset[int]
    metadata: str | None

    @property
    def behind(self) -> int:
        """Records that are not completed. Of those not taken yet, control records and aborted ones count too."""
        return len(self.open) + max(0, self.end - self.reach)

    @property
    def first_open(self) -> int | None:
        """The lowest offset that is not completed."""
        if self.open:
            return min(self.open)
        return self.reach if self.reach < self.end else None

    def standing(self, offset: int) -> Standing:
        if offset < self.base:
            return Standing.DONE
        if offset >= self.reach:
            return Standing.WAITING
        return Standing.TAKEN if offset in self.open else Standing.DONE


def positions_of(settings: Settings, admin: AdminClient, group: str, places: Sequence[Place]) -> dict[Place, Position]:
    """Of a group in partitions that exist. Raises LogReadError when Kafka gives no stable answer in time."""
    if not places:
        return {}
    offsets = GroupOffsets(settings, f"{settings.namespace}.positions", group)
    try:
        wanted = [TopicPartition(*place) for place in places]
        committed = answered(places[0][0], lambda: offsets.committed(wanted, _ASK), _PATIENCE)
    finally:
        offsets.close()
    begins = answered(places[0][0], lambda: log_beginnings(admin, places))
    ends = answered(places[0][0], lambda: high_watermarks(admin, places))
    ids = topic_ids(admin, sorted({topic for topic, _ in places}))
    found = {}
    for place, one in zip(places, committed, strict=True):
        inside = begins[place] <= one.offset <= ends[place]
        base = one.offset if inside else begins[place]
        found[place] = _position(begins[place], ends[place], base, ids[place[0]], one.metadata if inside else None)
    return found


def _position(begin: int, end: int, base: int, topic_id: str, metadata: str | None) -> Position:
    _, known, _ = Completion.restore(topic_id, base, metadata)
    if known is None:
        return Position(begin, end, base, base, frozenset(), metadata)
    return Position(begin, end, base, base + known.span, known.unfinished, metadata)
