"""Who is in a consumer group, and which partitions each member has."""

from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, MemberDescription

from parkway.runtime.log_reader import Place


@dataclass(frozen=True, slots=True)
class Member:
    """A process in a group. `instance` is the name that it was given (PARKWAY_INSTANCE)."""

    instance: str
    host: str
    places: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its coordinator sees it.

    `state`: stable, empty, dead, preparing_rebalancing ...; none: there is no such group yet.
    """

    name: str
    state: str
    members: tuple[Member, ...]

    def owner(self, place: Place) -> Member | None:
        """The member that has this partition now."""
        return next((member for member in self.members if place in member.places), None)


def groups_of(admin: AdminClient, names: Sequence[str]) -> dict[str, Group]:
    """Those that may be described: without the right to, or an answer, a group is missing here."""
    if not names:
        return {}
    found: dict[str, Group] = {}
    for name, future in admin.describe_consumer_groups(list(names), request_timeout=10.0).items():
        try:
            described = future.result()
        except KafkaException as failure:
            if failure.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                found[name] = Group(name, "none", ())
            continue
        members = tuple(_member(name, member) for member in described.members)
        found[name] = Group(name, described.state.name.lower(), members)
    return found


def _member(group: str, member: MemberDescription) -> Member:
    assigned = member.assignment.topic_partitions if member.assignment else ()
    instance = member.client_id.removeprefix(f"{group}.")
    return Member(instance, member.host.lstrip("/"), frozenset((one.topic, one.partition) for one in assigned))
