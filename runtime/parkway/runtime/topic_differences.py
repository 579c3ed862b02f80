"""Where the topics of a cluster differ from what a plan wants (DESIGN 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType, TopicMetadata

from parkway.runtime.topology import TopicSpec, cluster, wanted_topics
from parkway.schemas.plan import Plan
from parkway.schemas.topics import Topics

_ASK: Final = 15.0


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one topic. `what`: missing, partitions, a setting's name, replication, left_over, or unreadable."""

    topic: str
    what: str
    is_now: str | None = None
    wanted: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        if self.what == "missing":
            return f"{self.topic} is missing"
        if self.what == "left_over":
            return f"{self.topic} is not used by the plan"
        if self.what == "unreadable":
            return f"{self.topic}: its settings cannot be read ({self.is_now})"
        return f"{self.topic}: {self.what} is {self.is_now}, not {self.wanted}"


def topic_differences(admin: AdminClient, bootstrap: str, topics: Topics, plan: Plan) -> list[Difference]:
    """Everything that `topics apply` would create, or only report. Raises TopologyError when no broker answers."""
    metadata = cluster(admin, bootstrap)
    existing = metadata.topics
    specs = wanted_topics(topics, plan)
    counted = existing.get(topics.requests)
    partitions = len(counted.partitions) if counted is not None else None
    replicas = min(3, len(metadata.brokers))
    found = [Difference(spec.name, "missing") for spec in specs if spec.name not in existing]
    present = [spec for spec in specs if spec.name in existing]
    for spec in present:
        found += _shape(spec, existing[spec.name], partitions, replicas)
    found += _settings(admin, present, replicas)
    for source in plan.sources:
        if source.topic not in existing:
            found.append(Difference(source.topic, "missing"))
    found += [Difference(sink.topic, "missing") for sink in plan.sinks if sink.topic not in existing]
    names = {spec.name for spec in specs}
    found += [Difference(name, "left_over") for name in sorted(existing) if topics.is_ours(name) and name not in names]
    return found


def _shape(spec: TopicSpec, topic: TopicMetadata, partitions: int | None, replicas: int) -> list[Difference]:
    found = []
    wanted = spec.partitions or partitions
    if wanted is not None and len(topic.partitions) != wanted:
        found.append(Difference(spec.name, "partitions", str(len(topic.partitions)), str(wanted)))
    least = min((len(one.replicas) for one in topic.partitions.values()), default=0)
    if least < replicas:
        found.append(Difference(spec.name, "replication", str(least), str(replicas)))
    return found


def _settings(admin: AdminClient, specs: Sequence[TopicSpec], replicas: int) -> list[Difference]:
    if not specs:
        return []
    resources = {ConfigResource(ResourceType.TOPIC, spec.name): spec for spec in specs}
    found = []
    for resource, future in admin.describe_configs(list(resources), request_timeout=_ASK).items():
        spec = resources[resource]
        try:
            actual = future.result()
        except KafkaException as failure:
            found.append(Difference(spec.name, "unreadable", failure.args[0].str()))
            continue
        wanted = {**spec.config, "unclean.leader.election.enable": "false"}
        found += [
            Difference(spec.name, name, actual[name].value, value)
            for name, value in wanted.items()
            if name in actual and actual[name].value != value
        ]
        in_sync = _number(actual, "min.insync.replicas")
        if in_sync is not None and in_sync < max(1, replicas - 1):
            found.append(Difference(spec.name, "min.insync.replicas", str(in_sync), str(max(1, replicas - 1))))
    return found


def _number(actual: Mapping[str, Any], name: str) -> int | None:
    value = actual[name].value if name in actual else None
    return int(value) if value is not None and str(value).lstrip("-").isdigit() else None
