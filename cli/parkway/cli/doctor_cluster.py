"""What a doctor asks the brokers: which there are, and how they are set (DESIGN 3, 6.1)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigResource, ResourceType

from parkway.cli.durations import duration
from parkway.cli.findings import Finding, ok, unknown, warning, wrong
from parkway.runtime.settings import Settings
from parkway.workers.completion import largest_span

_ASK: Final = 15.0
_LEAST_METADATA: Final = 4_096
_INTERNAL: Final = {
    "offsets.topic.replication.factor": "__consumer_offsets",
    "transaction.state.log.replication.factor": "__transaction_state",
}


def check_brokers(metadata: ClusterMetadata) -> Iterator[Finding]:
    """Which brokers answer, and partitions without a leader or with replicas that are behind."""
    brokers = ", ".join(f"{one.id} {one.host}:{one.port}" for one in metadata.brokers.values())
    yield ok("brokers", f"{len(metadata.brokers)} in cluster {metadata.cluster_id}: {brokers}")
    if len(metadata.brokers) < 3:
        mend = "three or more for production; fine for development"
        yield warning("brokers", "fewer than three brokers: a lost disk loses records", mend)


def check_partitions(metadata: ClusterMetadata, names: list[str]) -> Iterator[Finding]:
    """Of our topics: are all led, and all replicas in sync?"""
    lost, behind = [], []
    for name in names:
        for number, one in metadata.topics[name].partitions.items():
            if one.leader < 0:
                lost.append(f"{name}/{number}")
            elif len(one.isrs) < len(one.replicas):
                behind.append(f"{name}/{number}")
    if lost:
        yield wrong("topics", f"no leader: {_some(lost)}", "bring the brokers that have these replicas back")
    if behind:
        yield warning("topics", f"replicas are behind: {_some(behind)}", "look at the brokers; it may pass by itself")


def check_broker_settings(admin: AdminClient, settings: Settings, metadata: ClusterMetadata) -> Iterator[Finding]:
    """Of one broker: they should be the same on all."""
    broker = min(metadata.brokers)
    resource = ConfigResource(ResourceType.BROKER, str(broker))
    try:
        config = admin.describe_configs([resource], request_timeout=_ASK)[resource].result()
    except KafkaException as failure:
        mend = "give this principal DescribeConfigs on the cluster, or look at the brokers' own files"
        yield unknown("settings", f"the brokers' settings may not be read ({failure.args[0].str()})", mend)
        return
    values = {name: entry.value for name, entry in config.items()}
    version = values.get("inter.broker.protocol.version")
    told = f"protocol {version}" if version else "4.0 or later (it has no inter.broker.protocol.version)"
    yield ok("brokers", f"Kafka {told}")
    yield from _transactions(values, settings)
    yield from _groups(values, settings)
    yield from _durability(values, len(metadata.brokers))


def _transactions(values: Mapping[str, Any], settings: Settings) -> Iterator[Finding]:
    longest = _milliseconds(values, "transaction.max.timeout.ms")
    if longest is not None and longest < settings.transaction_timeout * 1000:
        yield wrong(
            "settings",
            f"transaction.max.timeout.ms is {longest}, PARKWAY_TRANSACTION_TIMEOUT asks for "
            f"{settings.transaction_timeout:g} s: no producer starts",
            f"set PARKWAY_TRANSACTION_TIMEOUT to at most {longest // 1000}, or raise the brokers' setting",
        )
    else:
        yield ok("settings", f"transactions of {settings.transaction_timeout:g} s are allowed")
    expires = _milliseconds(values, "transactional.id.expiration.ms")
    if expires is not None and expires < 86_400_000:
        yield warning(
            "settings",
            f"transactional.id.expiration.ms is {duration(expires / 1000)}: idle producers are forgotten, and fenced",
            "a day or more (the default is seven)",
        )


def _groups(values: Mapping[str, Any], settings: Settings) -> Iterator[Finding]:
    least = _milliseconds(values, "group.min.session.timeout.ms")
    most = _milliseconds(values, "group.max.session.timeout.ms")
    asked = settings.session_timeout * 1000
    if least is not None and most is not None and not least <= asked <= most:
        yield wrong(
            "settings",
            f"PARKWAY_SESSION_TIMEOUT is {settings.session_timeout:g} s; the brokers allow {least} to {most} ms",
            f"set it between {least / 1000:g} and {most / 1000:g}",
        )
    size = _milliseconds(values, "offset.metadata.max.bytes")
    if size is not None and size < _LEAST_METADATA:
        yield wrong(
            "settings",
            f"offset.metadata.max.bytes is {size}: a worker's map of completed records spans "
            f"{largest_span(size)} of them only",
            f"{_LEAST_METADATA} or more (the default)",
        )
    elif size is not None:
        yield ok("settings", f"offset.metadata.max.bytes {size}: {largest_span(size):,} records may be open at once")


def check_retention(admin: AdminClient, metadata: ClusterMetadata, names: list[str]) -> Iterator[Finding]:
    """Offsets must outlive the records that they are of: else a group that stood still begins anew."""
    broker = ConfigResource(ResourceType.BROKER, str(min(metadata.brokers)))
    resources = [broker, *(ConfigResource(ResourceType.TOPIC, name) for name in names)]
    found: dict[str, Mapping[str, Any]] = {}
    for resource, future in admin.describe_configs(resources, request_timeout=_ASK).items():
        try:
            found[resource.name] = {name: entry.value for name, entry in future.result().items()}
        except KafkaException:
            continue
    minutes = _milliseconds(found.get(broker.name, {}), "offsets.retention.minutes")
    if minutes is None:
        yield unknown("settings", "offsets.retention.minutes may not be read", "it must outlive the topics' records")
        return
    longer = {}
    for name in names:
        config = found.get(name, {})
        kept = _milliseconds(config, "retention.ms")
        if kept is not None and "delete" in str(config.get("cleanup.policy")) and (kept < 0 or kept > minutes * 60_000):
            longer[name] = "for ever" if kept < 0 else duration(kept / 1000)
    if longer:
        topics = _some([f"{name} ({kept})" for name, kept in longer.items()])
        yield warning(
            "settings",
            f"offsets.retention.minutes is {minutes} ({duration(minutes * 60)}), and records are kept longer in "
            f"{topics}: after so long without a member a group forgets what it has done, and does it again",
            "raise offsets.retention.minutes on the brokers above the topics' retention",
        )
    else:
        yield ok("settings", f"offsets are kept {duration(minutes * 60)}, as long as records or longer")


def _durability(values: Mapping[str, Any], brokers: int) -> Iterator[Finding]:
    wanted = min(3, brokers)
    for name, topic in _INTERNAL.items():
        have = _milliseconds(values, name)
        if have is not None and have < wanted:
            mend = f"set {name}={wanted} before the topic is made, or move its replicas (kafka-reassign-partitions)"
            yield warning("settings", f"{name} is {have}: a lost disk loses {topic}", mend)
    in_sync = _milliseconds(values, "transaction.state.log.min.isr")
    if in_sync is not None and wanted > 1 and in_sync < 2:
        yield warning("settings", f"transaction.state.log.min.isr is {in_sync}", "2, with three replicas")
    if values.get("unclean.leader.election.enable") == "true":
        mend = "unclean.leader.election.enable=false"
        yield warning("settings", "unclean leader election is on: what was committed may be lost", mend)
    if values.get("auto.create.topics.enable") == "true":
        mend = "auto.create.topics.enable=false"
        yield warning("settings", "a mistyped topic name creates that topic", mend)
    if values.get("log.cleaner.enable") == "false":
        yield wrong("settings", "log.cleaner.enable is false: compacted topics grow for ever", "set it to true")


def _milliseconds(values: Mapping[str, Any], name: str) -> int | None:
    value = values.get(name)
    return int(value) if value is not None and str(value).lstrip("-").isdigit() else None


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
