"""The topics of an installation: which ones a plan needs, how they are set, what differs (DESIGN 3)."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    NewTopic,
    ResourceType,
    TopicMetadata,
)

from parkway.runtime.logs import get_logger
from parkway.runtime.not_ready import passes, until_ready
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan
from parkway.schemas.topics import Topics

_FIRST_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 10.0  # a broker that is slow is given this long for each answer
_CREATE_SECONDS: Final = 60.0
_VISIBLE_SECONDS: Final = 30.0
_DAY_MS: Final = 24 * 3600 * 1000
_REQUEST_BYTES: Final = 1_100_000  # a little over the plan's default limit of the decoded event: batch overhead
_INNER_BYTES: Final = 2_100_000
_DLQ_BYTES: Final = 4_300_000
# A tombstone must outlive the longest time that a worker keeps a cache of the partition.
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(32 * 1024 * 1024),
    "segment.ms": str(_DAY_MS // 24),
    "min.cleanable.dirty.ratio": "0.1",
    "delete.retention.ms": str(_DAY_MS),
    "max.compaction.lag.ms": str(_DAY_MS),
}


class TopologyError(ParkwayError):
    """Topics that are missing or wrong, or a broker that does not answer; the message says what to run."""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """One topic as Parkway wants it."""

    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    partitions: int | None = None  # None: P, as all topics that records flow through


@dataclass(frozen=True, slots=True)
class Applied:
    """What `apply` did: created topics, and where existing ones differ."""

    created: list[str]
    differences: list[str]
    topics: int
    partitions: int  # P
    total: int  # partitions of all topics together
    replication: int


def wanted_topics(topics: Topics, plan: Plan) -> list[TopicSpec]:
    """The topics that this plan uses; `requests` last, since producers may start once it is there."""
    inner = {"max.message.bytes": str(_INNER_BYTES)}
    specs = [
        TopicSpec(topics.events, inner),
        TopicSpec(topics.outputs, inner),
        TopicSpec(topics.dlq, {"max.message.bytes": str(_DLQ_BYTES)}),
    ]
    for action in plan.actions:
        specs.append(TopicSpec(topics.action(action.name), inner))
        if action.parks:
            specs.append(TopicSpec(topics.resume(action.name), inner))
    if any(action.parks or action.keeps_steps for action in plan.actions):
        specs.append(TopicSpec(topics.parked, {**COMPACTED, **inner}))
    if any(action.keeps_state for action in plan.actions):
        specs.append(TopicSpec(topics.state, {**COMPACTED, **inner}))
    if any(action.answers or action.parks for action in plan.actions):
        specs.append(TopicSpec(topics.journal, inner))
    specs.append(TopicSpec(topics.plans, {**COMPACTED, "max.message.bytes": str(_DLQ_BYTES)}, partitions=1))
    specs.append(TopicSpec(topics.requests, {"max.message.bytes": str(_REQUEST_BYTES)}))
    return specs


def cluster(admin: AdminClient, bootstrap: str, timeout: float = _ANSWER_SECONDS) -> ClusterMetadata:
    """The cluster's metadata. What is asked in vain is said after two seconds, in the log, and asked again.

    Raises TopologyError when no broker has answered after `timeout` seconds, and up to some 10 more.
    """
    began = time.monotonic()
    seconds = _FIRST_SECONDS
    while True:
        try:
            return admin.list_topics(timeout=min(seconds, timeout))
        except KafkaException as failure:
            reason = failure.args[0].str()
        if time.monotonic() - began >= timeout:
            raise TopologyError(
                f"no Kafka broker answers at {bootstrap} ({reason}): start one (`parkway dev`), or set "
                "--bootstrap-servers / PARKWAY_BOOTSTRAP_SERVERS, or check security.protocol and SASL settings"
            )
        if seconds == _FIRST_SECONDS:
            get_logger("kafka").warning(
                "no_kafka_broker_answers_yet", bootstrap_servers=bootstrap, reason=reason, asking_for_seconds=timeout
            )
        seconds = _ANSWER_SECONDS


def check_topics(admin: AdminClient, bootstrap: str, topics: Topics, plan: Plan, way_out: str) -> int:
    """The partition count P of the installation. `way_out`: the command that creates this plan's topics.

    Raises TopologyError, with the way out, when a topic that the plan uses is missing or has another count
    than `requests`. The plan topic is not among them: a router that has its plan from a file needs none.
    """
    existing = cluster(admin, bootstrap).topics
    ours = [spec.name for spec in wanted_topics(topics, plan) if spec.partitions is None]
    for source in plan.sources:
        _check_source(source.topic, topics, existing)
    for reply_topic in plan.reply_topics:
        if reply_topic not in existing:
            raise TopologyError(f"missing reply topic {reply_topic}: create it, or take it off the plan's reply_topics")
    missing = [name for name in ours if name not in existing]
    if missing:
        raise TopologyError(f"missing topic{'s' if len(missing) > 1 else ''} {', '.join(missing)}: run `{way_out}`")
    partitions = len(existing[topics.requests].partitions)
    wrong = _other_counts(existing, map(TopicSpec, [*ours, *plan.reply_topics]), partitions)
    if wrong:
        raise TopologyError(
            f"{'; '.join(wrong)}, but {topics.requests} has {partitions}: "
            f"all must have {partitions}; add partitions to them with kafka-topics --alter, "
            f"or delete them when they are empty and run `{way_out}`"
        )
    return partitions


def _check_source(topic: str, topics: Topics, existing: Mapping[str, TopicMetadata]) -> None:
    if topics.is_ours(topic):
        raise TopologyError(f"source topic {topic} is one of Parkway's own: a Source reads a topic of somebody else's")
    if topic not in existing:
        raise TopologyError(
            f"missing source topic {topic}: it is yours, so Parkway does not create it; create it, "
            "or take its Source off the agent and build the plan again"
        )


def apply_topics(admin: AdminClient, bootstrap: str, topics: Topics, plan: Plan, partitions: int | None) -> Applied:
    """Create what is missing; say what differs. Without `partitions`: the count of `requests`, or 12.

    Raises TopologyError when Kafka refuses, or when `partitions` is not what `requests` has; NotReadyError when no
    controller answers within a minute.
    """
    metadata = cluster(admin, bootstrap)
    existing = metadata.topics
    have = len(existing[topics.requests].partitions) if topics.requests in existing else None
    if partitions is not None and have is not None and partitions != have:
        raise TopologyError(
            f"{topics.requests} has {have} partitions, not {partitions}: "
            "partition counts are not changed by this command; leave --partitions out"
        )
    count = partitions or have or 12
    replication = min(3, len(metadata.brokers))
    specs = wanted_topics(topics, plan)
    missing = [spec for spec in specs if spec.name not in existing]
    create = partial(_create, admin, missing, count, replication)
    until_ready("that its topics are created", create, bootstrap, _CREATE_SECONDS)
    wait_until_led(admin, bootstrap, [spec.name for spec in missing if spec.partitions is None], count)
    wait_until_led(admin, bootstrap, [spec.name for spec in missing if spec.partitions == 1], 1)
    present = [spec for spec in specs if spec.name in existing]
    differences = _other_counts(existing, present, count)
    differences += _other_configs(admin, present)
    for source in plan.sources:
        if source.topic not in existing:
            differences.append(
                f"source topic {source.topic} is missing: it is yours, create it before you put the plan in force"
            )
    for sink in plan.sinks:
        if topics.is_ours(sink.topic):
            differences.append(f"sink topic {sink.topic} is one of Parkway's own: no worker starts with such a Sink")
        elif sink.topic not in existing:
            differences.append(f"sink topic {sink.topic} is missing: it is yours, create it before you start workers")
    if replication < 3:
        differences.append(
            f"replication is {replication}: the cluster has {len(metadata.brokers)} broker(s); "
            "a lost disk loses records (fine for development)"
        )
    total = sum(spec.partitions or count for spec in specs)
    return Applied([spec.name for spec in missing], differences, len(specs), count, total, replication)


def router_partitions(admin: AdminClient, bootstrap: str, topics: Topics, plan: Plan) -> list[tuple[str, int]]:
    """(topic, partition) of everything that routers of this plan read, as far as it exists. Raises TopologyError."""
    existing = cluster(admin, bootstrap).topics
    read = [topics.requests, topics.events, *(source.topic for source in plan.sources)]
    return [
        (topic, partition) for topic in read if topic in existing for partition in sorted(existing[topic].partitions)
    ]


def offset_metadata_limit(admin: AdminClient) -> int:
    """The broker's `offset.metadata.max.bytes`; its default, 4096, when it may not be read."""
    try:
        broker = next(iter(admin.list_topics(timeout=10.0).brokers))
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        config = admin.describe_configs([resource], request_timeout=10.0)[resource].result()
        return int(config["offset.metadata.max.bytes"].value)
    except KafkaException as failure:
        if passes(failure):
            raise
        return 4096
    except KeyError:
        return 4096


def _create(admin: AdminClient, specs: Iterable[TopicSpec], partitions: int, replication: int) -> None:
    new = [
        NewTopic(
            spec.name,
            num_partitions=spec.partitions or partitions,
            replication_factor=replication,
            config={
                **spec.config,
                "min.insync.replicas": str(max(1, replication - 1)),
                "unclean.leader.election.enable": "false",
            },
        )
        for spec in specs
    ]
    if not new:
        return
    for name, future in admin.create_topics(new, operation_timeout=30.0, request_timeout=30.0).items():
        try:
            future.result()
        except KafkaException as failure:
            if passes(failure):
                raise
            if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise TopologyError(f"topic {name} cannot be created: {failure.args[0].str()}") from None


def wait_until_led(admin: AdminClient, bootstrap: str, names: list[str], partitions: int) -> None:
    """Brokers learn of a new topic a little later: the next command must not find it missing. Raises TopologyError."""
    give_up = time.monotonic() + _VISIBLE_SECONDS
    while names:
        known = cluster(admin, bootstrap).topics
        if all(_is_led(known.get(name), partitions) for name in names):
            return
        if time.monotonic() > give_up:
            raise TopologyError(f"new topics have no leaders after {_VISIBLE_SECONDS:g} s: look at the brokers")
        time.sleep(0.1)


def _is_led(topic: TopicMetadata | None, partitions: int) -> bool:
    if topic is None or len(topic.partitions) != partitions:
        return False
    return all(partition.leader >= 0 for partition in topic.partitions.values())


def _other_counts(existing: Mapping[str, TopicMetadata], specs: Iterable[TopicSpec], partitions: int) -> list[str]:
    return [
        f"{spec.name} has {len(existing[spec.name].partitions)} partitions"
        for spec in specs
        if len(existing[spec.name].partitions) != (spec.partitions or partitions)
    ]


def _other_configs(admin: AdminClient, specs: list[TopicSpec]) -> list[str]:
    if not specs:
        return []
    resources = {ConfigResource(ResourceType.TOPIC, spec.name): spec for spec in specs}
    differences = []
    for resource, future in admin.describe_configs(list(resources), request_timeout=10.0).items():
        spec = resources[resource]
        actual = future.result()
        differences += [
            f"{spec.name}: {name} is {actual[name].value}, not {value}"
            for name, value in spec.config.items()
            if name in actual and actual[name].value != value
        ]
    return differences


def topic_ids(admin: AdminClient, names: list[str]) -> dict[str, str]:
    """Topic name -> id, which a topic that was deleted and made again does not keep. Raises KafkaException."""
    answers = admin.describe_topics(TopicCollection(names), request_timeout=10.0)
    return {name: str(future.result().topic_id) for name, future in answers.items()}


def partition_count(admin: AdminClient, topic: str) -> int:
    """How many partitions an existing topic has. Raises KafkaException."""
    answer = admin.describe_topics(TopicCollection([topic]), request_timeout=10.0)
    return len(answer[topic].result().partitions)
