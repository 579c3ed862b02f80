"""The plan that routers run, as their offset commits tell it: a mark in the metadata of `<ns>.router`."""

from collections.abc import Iterable
from typing import Final

from confluent_kafka import TopicPartition

from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.settings import Settings

_PREFIX: Final = "1;plan="
_ASK_SECONDS: Final = 5.0


def plan_mark(build: str) -> str:
    """The metadata string of a router's offset commits."""
    return f"{_PREFIX}{build}"


def plans_in_force(settings: Settings, client_id: str, partitions: Iterable[int]) -> set[str]:
    """Builds of the plans that routers last committed with. Empty when there is no answer, or no router yet."""
    topics = settings.topics
    offsets = GroupOffsets(settings, client_id, topics.router_group)
    try:
        wanted = [TopicPartition(topic, one) for topic in (topics.requests, topics.events) for one in partitions]
        marks = [one.metadata or "" for one in offsets.committed(wanted, _ASK_SECONDS) or ()]
    finally:
        offsets.close()
    return {mark.removeprefix(_PREFIX) for mark in marks if mark.startswith(_PREFIX)}
