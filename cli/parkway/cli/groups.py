"""Who is in a consumer group, and which partitions each member has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka.admin import MemberDescription

from parkway.runtime.group_members import describe_groups
from parkway.runtime.log_reader import Place
from parkway.runtime.settings import Settings

_PATIENCE: Final = 20.0


@dataclass(frozen=True, slots=True)
class Member:
    """A process in a group. `instance` is the name that it was given (PARKWAY_INSTANCE)."""

    instance: str
    host: str
    places: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its coordinator sees it.

    `state`: stable, empty, dead, preparing_rebalancing; dead also where there never was one.
    """

    name: str
    state: str
    members: tuple[Member, ...]

    def owner(self, place: Place) -> Member | None:
        """The member that has this partition now."""
        return next((member for member in self.members if place in member.places), None)


def groups_of(settings: Settings, names: Sequence[str]) -> dict[str, Group]:
    """Those that may be described: without the right to, or an answer in time, a group is missing here."""
    described = describe_groups(settings, f"{settings.namespace}.groups", names, _PATIENCE)
    return {
        name: Group(name, one.state.name.lower(), tuple(_member(name, member) for member in one.members))
        for name, one in described.items()
    }


def _member(group: str, member: MemberDescription) -> Member:
    assigned = member.assignment.topic_partitions if member.assignment else ()
    instance = member.client_id.removeprefix(f"{group}.")
    return Member(instance, member.host.lstrip("/"), frozenset((one.topic, one.partition) for one in assigned))
