"""What the broker knows: who owns which partition, how far the groups are, how long the topics are."""

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    IsolationLevel,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, OffsetSpec

from parkway.runtime.group_members import describe_groups
from parkway.runtime.settings import Settings
from parkway.schemas.plan import Plan
from parkway.schemas.topics import Topics

_TIMEOUT = 20.0
_DESCRIBE_SECONDS = 2.0
_COMMITTED_TIMEOUT = 2.0

Place = tuple[str, int]  # topic, partition


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a consumer group. `client_id` ends in the name of the process."""

    id: str
    client_id: str
    partitions: frozenset[int]


class Cluster:
    """Asks the broker, through an ordinary admin client."""

    def __init__(self, bootstrap_servers: str, topics: Topics, plan: Plan, partitions: int) -> None:
        self._config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "client.id": "demo",
            "log_level": 2,
        }
        self._admin = AdminClient(self._config)
        self._askers: dict[str, Consumer] = {}
        self._settings = Settings(bootstrap_servers=bootstrap_servers, namespace=topics.namespace)
        self._topics = topics
        self._partitions = partitions
        self.members_per_group = 2
        # What each group reads: its subscription, and what it commits beside it (`resume`).
        self.groups = {topics.router_group: [topics.requests, topics.events]}
        for action in plan.actions:
            resume = [topics.resume(action.name)] if action.parks else []
            self.groups[topics.worker_group(action.name)] = [topics.action(action.name), *resume]

    def complete_groups(self) -> set[str]:
        """The groups in which all processes are members and every partition has an owner."""
        return {
            group
            for group, members in self.members(self.groups).items()
            if len(members) == self.members_per_group
            and len({partition for member in members for partition in member.partitions}) == self._partitions
        }

    def members(self, groups: Iterable[str]) -> dict[str, list[Member]]:
        """Members with what they own; none while a group is not stable, or not known yet."""
        described = describe_groups(self._settings, "demo", list(groups), _DESCRIBE_SECONDS)
        return {group: _members(described[group]) if group in described else [] for group in groups}

    def high_watermarks(self, topics: Iterable[str]) -> dict[Place, int]:
        """The end of every partition, open transactions included."""
        places = [TopicPartition(topic, number) for topic in topics for number in range(self._partitions)]
        answers = self._admin.list_offsets(
            {place: OffsetSpec.latest() for place in places},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=_TIMEOUT,
        )
        return {(place.topic, place.partition): future.result().offset for place, future in answers.items()}

    def lag(self) -> int | None:
        """Records (control records included) that the groups have not completed; None: no stable answer now."""
        ends = self.high_watermarks({topic for topics in self.groups.values() for topic in topics})
        lag = 0
        for group, topics in self.groups.items():
            places = [TopicPartition(topic, number) for topic in topics for number in range(self._partitions)]
            try:
                committed = self._asker(group).committed(places, timeout=_COMMITTED_TIMEOUT)
            except KafkaException:
                return None  # a commit is pending in a transaction
            lag += sum(ends[one.topic, one.partition] - max(0, one.offset) for one in committed)
        return lag

    def close(self) -> None:
        """Call it while the broker runs: an admin client that goes after its broker may never come to its end."""
        for asker in self._askers.values():
            asker.close()
        self._askers.clear()
        del self._admin

    def _asker(self, group: str) -> Consumer:
        """A consumer that is no member of the group: the admin client's own call for this can crash the process."""
        if group not in self._askers:
            self._askers[group] = Consumer({**self._config, "group.id": group, "isolation.level": "read_committed"})
        return self._askers[group]

    def delete_topics(self) -> None:
        """Leave nothing behind on a broker that others use, too."""
        prefix = f"{self._topics.namespace}."
        mine = [topic for topic in self._admin.list_topics(timeout=_TIMEOUT).topics if topic.startswith(prefix)]
        for future in self._admin.delete_topics(mine, request_timeout=_TIMEOUT).values():
            future.result()


def _members(described: ConsumerGroupDescription) -> list[Member]:
    if described.state != ConsumerGroupState.STABLE:
        return []
    return [
        Member(one.member_id, one.client_id, frozenset(place.partition for place in one.assignment.topic_partitions))
        for one in described.members
    ]
