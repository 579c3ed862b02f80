"""The rules of the transactional producer, against a real broker."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewPartitions
from installation import Installation, wait_for

from parkway.runtime.clients import group_consumer
from parkway.runtime.log_offsets import high_watermarks
from parkway.runtime.records import Record
from parkway.runtime.settings import Settings
from parkway.runtime.transaction_errors import AbortedError, FatalTransactionError, GroupFencedError, RecordRefusedError
from parkway.runtime.transactions import TransactionalProducer
from parkway.testing.kafka import PipKafka


class Member:
    """A group member with the metadata of its newest assignment."""

    def __init__(self, settings: Settings, name: str, topic: str) -> None:
        self.metadata: Any = None
        self.consumer: Consumer = group_consumer(settings, name, f"{settings.namespace}.group")
        self.consumer.subscribe([topic], on_assign=self._on_assign)

    def _on_assign(self, consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self.metadata = consumer.consumer_group_metadata()

    def join(self) -> "Member":
        wait_for("joined", lambda: self.consumer.poll(0.1) or self.metadata)
        return self


@pytest.fixture
def here(install: Any) -> Installation:
    return install("agents:Orders")


@pytest.fixture
def member(here: Installation) -> Iterator[Member]:
    one = Member(here.settings, "m1", here.topics.requests).join()
    yield one
    one.consumer.close()


@pytest.fixture
def producer(here: Installation) -> TransactionalProducer:
    one = TransactionalProducer(here.settings, f"{here.settings.namespace}.p")
    one.open()
    return one


def record(here: Installation, value: bytes) -> Record:
    return Record(here.topics.outputs, 0, None, value, [])


def offsets(here: Installation) -> list[TopicPartition]:
    return [TopicPartition(here.topics.requests, 0, 1, "map")]


def values(here: Installation) -> list[bytes | None]:
    return [one.value for one in here.read(here.topics.outputs)]


def test_a_record_that_is_too_large_aborts_at_once_and_is_named(
    here: Installation, member: Member, producer: TransactionalProducer
) -> None:
    """The broker refuses it; librdkafka would hold the others back until they time out."""
    started = time.monotonic()
    with pytest.raises(RecordRefusedError) as refused:
        producer.commit(
            [record(here, b"a"), record(here, b"x" * 3_000_000), record(here, b"b")], offsets(here), member.metadata
        )
    assert refused.value.guilty in ((1,), ())
    assert time.monotonic() - started < 8
    producer.commit([record(here, b"a"), record(here, b"b")], offsets(here), member.metadata)
    assert values(here) == [b"a", b"b"]


def test_a_record_beyond_the_clients_own_limit_is_named(
    here: Installation, member: Member, producer: TransactionalProducer
) -> None:
    with pytest.raises(RecordRefusedError) as refused:
        producer.commit([record(here, b"a"), record(here, b"x" * 5_000_000)], offsets(here), member.metadata)
    assert refused.value.guilty == (1,)
    producer.commit([record(here, b"a")], offsets(here), member.metadata)
    assert values(here) == [b"a"]


def test_metadata_of_an_old_epoch_is_fenced_by_the_group(
    here: Installation, member: Member, producer: TransactionalProducer
) -> None:
    old = member.metadata
    member.metadata = None
    second = Member(here.settings, "m2", here.topics.requests)
    wait_for("both assigned", lambda: [member.consumer.poll(0.1), second.consumer.poll(0.1)] and second.metadata)
    with pytest.raises(GroupFencedError):
        producer.commit([record(here, b"a")], offsets(here), old)
    second.consumer.close()
    assert values(here) == []


def test_a_second_process_with_the_same_id_makes_the_first_one_fatal(
    here: Installation, member: Member, producer: TransactionalProducer
) -> None:
    TransactionalProducer(here.settings, f"{here.settings.namespace}.p").open()
    with pytest.raises(FatalTransactionError, match="instance"):
        producer.commit([record(here, b"a")], offsets(here), member.metadata)
    assert values(here) == []


def test_partitions_that_were_added_since_the_producer_looked_are_used(
    here: Installation, member: Member, producer: TransactionalProducer
) -> None:
    producer.commit([record(here, b"a")], offsets(here), member.metadata)
    topic = here.topics.outputs
    here.admin.create_partitions([NewPartitions(topic, here.partitions + 1)])[topic].result()
    new = (topic, here.partitions)
    wait_for("its leader", lambda: high_watermarks(here.admin, [new]))
    producer.commit([Record(topic, here.partitions, None, b"b", [])], offsets(here), member.metadata)
    # The record, and its marker, which a broker writes a moment after the commit returns.
    wait_for("record and marker", lambda: high_watermarks(here.admin, [new]) == {new: 2})


def test_a_topic_that_is_not_there_is_named_before_anything_is_begun(
    here: Installation, member: Member, producer: TransactionalProducer
) -> None:
    gone = Record("no-such-topic", 0, None, b"x", [])
    with pytest.raises(RecordRefusedError, match="no-such-topic") as refused:
        producer.commit([record(here, b"a"), gone, gone], offsets(here), member.metadata)
    assert refused.value.guilty == (1, 2)
    producer.commit([record(here, b"a")], offsets(here), member.metadata)
    assert values(here) == [b"a"]


def test_a_broker_that_is_away_when_topics_are_looked_up_is_no_reason_to_exit(tmp_path: Any) -> None:
    with PipKafka() as kafka:
        here = Installation(kafka.bootstrap_servers, "away", "agents:Orders", tmp_path)
        member = Member(here.settings, "m1", here.topics.requests).join()
        producer = TransactionalProducer(here.settings, "away.p")
        producer.open()
        kafka.pause(1)
        wait_for("all its threads stand still", lambda: _stands_still(kafka.pids[1]))
        with pytest.raises(AbortedError):
            producer.commit([record(here, b"a")], offsets(here), member.metadata)
        kafka.resume(1)
        # Each try looks for ten seconds.
        wait_for("committed", lambda: member.consumer.poll(0) or _committed(producer, here, member), 80)
        assert values(here) == [b"a"]
        member.consumer.close()
        here.stop()


def _stands_still(pid: int) -> bool:
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return set(states) == {"T"}


def _committed(producer: TransactionalProducer, here: Installation, member: Member) -> bool:
    try:
        producer.commit([record(here, b"a")], offsets(here), member.metadata)
    except AbortedError:
        return False
    return True


def test_a_broker_that_stands_still_for_a_while_delays_and_doubles_nothing(tmp_path: Any) -> None:
    with PipKafka() as kafka:
        here = Installation(kafka.bootstrap_servers, "still", "agents:Orders", tmp_path)
        member = Member(here.settings, "m1", here.topics.requests).join()
        producer = TransactionalProducer(here.settings, "still.p")
        producer.open()
        stop = threading.Event()
        keep = threading.Thread(target=lambda: [member.consumer.poll(0.1) for _ in iter(stop.is_set, True)])
        keep.start()
        try:
            producer.commit([record(here, b"0")], offsets(here), member.metadata)
            done: list[int] = []

            def commit_many() -> None:
                for number in range(1, 30):
                    producer.commit([record(here, str(number).encode())], offsets(here), member.metadata)
                    done.append(number)

            committing = threading.Thread(target=commit_many)
            committing.start()
            wait_for("some are committed", lambda: len(done) > 3)
            kafka.pause(1)
            time.sleep(4)  # the broker is away for this long: that is the case under test
            kafka.resume(1)
            committing.join(60)
            assert not committing.is_alive()
            assert values(here) == [str(number).encode() for number in range(30)]
        finally:
            stop.set()
            keep.join()
            member.consumer.close()
