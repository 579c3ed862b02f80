"""Who is in a consumer group, and which partitions each member has."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import MemberDescription

from parkway.runtime.clients import admin_client
from parkway.runtime.log_reader import Place
from parkway.runtime.settings import Settings

_ASK: Final = 5.0
_PATIENCE: Final = 20.0
_PAUSE: Final = 0.2


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
    found: dict[str, Group] = {}
    left = list(names)
    give_up = time.monotonic() + _PATIENCE
    while left and time.monotonic() < give_up:
        # A new client each time: one that met a coordinator on the move goes on asking the same broker.
        admin = admin_client(settings, f"{settings.namespace}.groups")
        for name, future in admin.describe_consumer_groups(left, request_timeout=_ASK).items():
            try:
                described = future.result()
            except KafkaException as failure:
                if failure.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                    left.remove(name)
                continue
            left.remove(name)
            found[name] = Group(name, described.state.name.lower(), tuple(_member(name, m) for m in described.members))
        if left:
            time.sleep(_PAUSE)
    return found


def _member(group: str, member: MemberDescription) -> Member:
    assigned = member.assignment.topic_partitions if member.assignment else ()
    instance = member.client_id.removeprefix(f"{group}.")
    return Member(instance, member.host.lstrip("/"), frozenset((one.topic, one.partition) for one in assigned))
