"""The rules of a Kafka that Parkway relies on (DESIGN 6.1), each as a short probe: it returns what it saw, or raises.

Every one was found by breaking a real Kafka; docs/operating.md says what each one is for.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import ConfigResource, ResourceType

from parkway.cli.probe_scratch import CALL, ProbeError, Scratch
from parkway.runtime.clients import plain_producer
from parkway.runtime.error_codes import FENCED, GROUP_MOVED_ON
from parkway.runtime.topology import COMPACTED, offset_metadata_limit

_PENDING: Final = 2.0
_SKEW_MS: Final = 2_000


def atomic(scratch: Scratch) -> str:
    """Records and offsets of one transaction come together, and nothing of an aborted one."""
    source, target, group = scratch.topic("a-in"), scratch.topic("a-out"), scratch.group("a")
    producer = scratch.producer("a")
    with scratch.member(group, source) as member:
        _transact(producer, target, b"aborted", [TopicPartition(source, 0, 3)], member.metadata, abort=True)
        if scratch.read(target):
            raise ProbeError("a read_committed consumer sees a record of an aborted transaction")
        _transact(producer, target, b"committed", [TopicPartition(source, 0, 7)], member.metadata)
        committed = scratch.committed(group, source)
        if committed is None or committed.offset != 7:
            raise ProbeError(f"offset 7 was committed in a transaction, the group shows {committed}")
        if scratch.read(target) != [b"committed"]:
            raise ProbeError(f"one record was committed, a reader sees {scratch.read(target)}")
    return "records and offsets came together; what was aborted is not seen"


def fenced_by_generation(scratch: Scratch) -> str:
    """What belongs to an earlier generation of the group is not committed in a later one."""
    source, target, group = scratch.topic("b-in"), scratch.topic("b-out"), scratch.group("b")
    producer = scratch.producer("b")
    with scratch.member(group, source) as member:
        stale = member.metadata
        with scratch.joining(group, source, member):
            failure = _refused(lambda: _transact(producer, target, b"zombie", [TopicPartition(source, 0, 9)], stale))
    if failure is None:
        raise ProbeError("offsets were committed under a generation that was over")
    if failure.args[0].code() not in GROUP_MOVED_ON:
        raise ProbeError(f"refused, but by {failure.args[0].name()}: workers take that for another fault")
    if scratch.read(target):
        raise ProbeError("the record of the fenced transaction is seen")
    return f"refused by {failure.args[0].name()}"


def fenced_by_id(scratch: Scratch) -> str:
    """A second producer under one transactional id ends the first one's transaction, and the first for good."""
    target = scratch.topic("c")
    first = scratch.producer("c")
    first.begin_transaction()
    first.produce(target, b"first", partition=0)
    first.flush(CALL)
    second = scratch.producer("c")
    failure = _refused(lambda: first.commit_transaction(CALL))
    if failure is None:
        raise ProbeError("both producers of one transactional id can commit")
    second.begin_transaction()
    second.produce(target, b"second", partition=0)
    second.commit_transaction(CALL)
    seen = scratch.read(target)
    if seen != [b"second"]:
        raise ProbeError(f"of two producers only the second one's record counts, a reader sees {seen}")
    how = failure.args[0]
    return f"refused by {how.name()}" + ("" if how.code() in FENCED else " (not one of the usual codes)")


def offsets_beyond_subscription(scratch: Scratch) -> str:
    """Offsets of `resume` topics are committed under the group, which does not subscribe to them."""
    source, resume, target = scratch.topic("d-in"), scratch.topic("d-resume"), scratch.topic("d-out")
    group = scratch.group("d")
    producer = scratch.producer("d")
    with scratch.member(group, source) as member:
        _transact(producer, target, b"x", [TopicPartition(source, 0, 1), TopicPartition(resume, 0, 2)], member.metadata)
        committed = scratch.committed(group, resume)
        if committed is None or committed.offset != 2:
            raise ProbeError(f"offset 2 of a topic outside the subscription was committed, the group shows {committed}")
    return "kept under the group's generation"


def metadata_size(scratch: Scratch) -> str:
    """The map of completed records fits beside the offset, comes back as it was, and too much is refused."""
    source, target, group = scratch.topic("e-in"), scratch.topic("e-out"), scratch.group("e")
    limit = offset_metadata_limit(scratch.admin)
    fits = "x" * (limit - 96)
    producer = scratch.producer("e")
    with scratch.member(group, source) as member:
        _transact(producer, target, b"fits", [TopicPartition(source, 0, 1, fits)], member.metadata)
        committed = scratch.committed(group, source)
        if committed is None or committed.metadata != fits:
            shown = None if committed is None or committed.metadata is None else len(committed.metadata)
            raise ProbeError(f"{len(fits):,} bytes of metadata were committed, {shown} came back")
        beyond = [TopicPartition(source, 0, 2, "x" * (limit + 1))]
        failure = _refused(lambda: _transact(producer, target, b"large", beyond, member.metadata))
        if failure is None:
            kept = scratch.committed(group, source)
            if kept is not None and kept.metadata != beyond[0].metadata:
                raise ProbeError("metadata that is too long is cut off without a word")
            return f"{len(fits):,} bytes pass, and {limit + 1:,} too"
    return f"{len(fits):,} bytes pass, {limit + 1:,} are refused"


def committed_waits(scratch: Scratch) -> str:
    """Who asks for offsets while a commit of them is under way gets no old answer."""
    source, target, group = scratch.topic("f-in"), scratch.topic("f-out"), scratch.group("f")
    producer = scratch.producer("f")
    with scratch.member(group, source) as member:
        _transact(producer, target, b"before", [TopicPartition(source, 0, 4)], member.metadata)
        producer.begin_transaction()
        producer.produce(target, b"pending", partition=0)
        producer.flush(CALL)
        producer.send_offsets_to_transaction([TopicPartition(source, 0, 5)], member.metadata, CALL)
        meanwhile = scratch.committed(group, source, _PENDING)
        producer.commit_transaction(CALL)
        after = scratch.until("the committed offset", lambda: scratch.committed(group, source), CALL)
    if meanwhile is not None:
        raise ProbeError(f"while offset 5 was being committed the group answered {meanwhile.offset}")
    if after.offset != 5:
        raise ProbeError(f"offset 5 was committed, the group shows {after.offset}")
    return "no answer while a commit is under way, the new one after it"


def compaction(scratch: Scratch) -> str:
    """Tombstones are kept as long as a topic is told to keep them: by its settings; no compaction is waited for."""
    topic = scratch.topic("g", **COMPACTED)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    actual = scratch.admin.describe_configs([resource], request_timeout=CALL)[resource].result()
    other = [
        f"{name}={actual[name].value if name in actual else 'unknown'}"
        for name, value in COMPACTED.items()
        if name not in actual or actual[name].value != value
    ]
    if other:
        raise ProbeError(f"a compacted topic was asked for, and is set to {', '.join(other)}")
    return "compacted topics are set as they are asked for"


def clock(scratch: Scratch) -> str:
    """The broker's clock beside this machine's: a record that the broker stamps, and the time around it."""
    topic = scratch.topic("h", **{"message.timestamp.type": "LogAppendTime"})
    stamps: list[int] = []
    producer = plain_producer(scratch.settings, scratch.name)
    before = after = 0.0
    for _ in range(2):  # the first one waits for connections
        before = time.time()
        producer.produce(
            topic, b"now", partition=0, on_delivery=lambda _, message: stamps.append(message.timestamp()[1])
        )
        producer.flush(CALL)
        after = time.time()
    if len(stamps) < 2:
        raise ProbeError("no answer to a record in time", broken=False)
    early, late = stamps[1] - before * 1000, stamps[1] - after * 1000
    skew = 0.0 if late <= 0 <= early else min(early, late, key=abs)
    if abs(skew) > _SKEW_MS:
        side = "ahead of" if skew > 0 else "behind"
        raise ProbeError(f"the broker's clock is {abs(skew) / 1000:.1f} s {side} this machine's")
    return f"the broker's clock agrees with this machine's, within {max(abs(early), abs(late)):.0f} ms"


@dataclass(frozen=True, slots=True)
class Probe:
    """A rule, how it is tried, and what it means for Parkway when it does not hold."""

    rule: str
    run: Callable[[Scratch], str]
    means: str


PROBES: Final = (
    Probe(
        "a transaction commits records and offsets together",
        atomic,
        "results would be lost or come twice: do not run Parkway on this Kafka",
    ),
    Probe(
        "a stale group generation is fenced",
        fenced_by_generation,
        "a process that lost its partitions could still commit, and answers would come twice: do not run Parkway here",
    ),
    Probe(
        "a second producer with one transactional id fences the first",
        fenced_by_id,
        "a restarted process could not end what it left open: answers could come twice",
    ),
    Probe(
        "offsets of topics outside the subscription are kept in the group",
        offsets_beyond_subscription,
        "continuations (resume topics) would run again after every rebalance",
    ),
    Probe(
        "offset metadata keeps a worker's map",
        metadata_size,
        "what completed out of order would run again after a restart; set offset.metadata.max.bytes to 4096 or more",
    ),
    Probe(
        "committed offsets are not answered while a commit is pending",
        committed_waits,
        "a worker that takes a partition over could begin with what its predecessor has just completed",
    ),
    Probe(
        "compacted topics keep tombstones as configured",
        compaction,
        "a cancelled or finished request could come back from <ns>.parked",
    ),
    Probe("clocks agree", clock, "deadlines are times of day: synchronize the clocks (NTP)"),
)


def _transact(
    producer: Producer,
    topic: str,
    value: bytes,
    offsets: list[TopicPartition],
    metadata: object,
    *,
    abort: bool = False,
) -> None:
    producer.begin_transaction()
    try:
        producer.produce(topic, value, partition=0)
        producer.flush(CALL)
        producer.send_offsets_to_transaction(offsets, metadata, CALL)
        if abort:
            producer.abort_transaction(CALL)
        else:
            producer.commit_transaction(CALL)
    except KafkaException as failure:
        if failure.args[0].txn_requires_abort():
            producer.abort_transaction(CALL)
        raise


def _refused(call: Callable[[], object]) -> KafkaException | None:
    try:
        call()
    except KafkaException as failure:
        return failure
    return None
