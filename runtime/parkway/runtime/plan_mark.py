"""The plan that routers run, as their offset commits tell it: a mark in the metadata of `<ns>.router`.

`2;<stamp>;<number>;plan=<build>`: the stamp is random per assignment, the number grows with every transaction, so a
router can tell whether a commit is its own newest one (runtime/recovery.py). Version 1 was `1;plan=<build>`.

A router commits the mark of its plan for all its partitions, the idle ones too: so a partition that shows a plan has
no record in flight that was matched against an earlier one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import TopicPartition

from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.settings import Settings

_FIRST_VERSION: Final = "1;plan="
_ASK_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class PlanMark:
    """The build of the plan that a partition was last routed by, and which commit says so."""

    plan: str
    stamp: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"2;{self.stamp};{self.number};plan={self.plan}"


def read_mark(metadata: str | None) -> PlanMark | None:
    """The mark in an offset's metadata; None when there is none that this version can read."""
    text = metadata or ""
    if text.startswith(_FIRST_VERSION):
        return PlanMark(text.removeprefix(_FIRST_VERSION))
    version, *fields = text.split(";", 3)  # the build comes last: it may hold anything
    if version != "2" or len(fields) != 3 or not fields[1].isdecimal() or not fields[2].startswith("plan="):
        return None
    stamp, number, plan = fields
    return PlanMark(plan.removeprefix("plan="), stamp, int(number))


def marked_builds(
    settings: Settings, client_id: str, partitions: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], str | None] | None:
    """(topic, partition) -> build of the plan that its router last committed with; None: no router yet.

    None altogether when there is no answer within seconds.
    """
    offsets = GroupOffsets(settings, client_id, settings.topics.router_group)
    try:
        answer = offsets.committed([TopicPartition(topic, one) for topic, one in partitions], _ASK_SECONDS)
    finally:
        offsets.close()
    if answer is None:
        return None
    marks = {(one.topic, one.partition): read_mark(one.metadata) for one in answer}
    return {place: mark.plan if mark is not None else None for place, mark in marks.items()}


def plans_in_force(settings: Settings, client_id: str, partitions: Iterable[int]) -> set[str]:
    """Builds of the plans that routers last committed with. Empty when there is no answer, or no router yet."""
    topics = settings.topics
    wanted = [(topic, one) for topic in (topics.requests, topics.events) for one in partitions]
    marks = marked_builds(settings, client_id, wanted) or {}
    return {build for build in marks.values() if build is not None}
