"""The broker that pip installs, as its users meet it: real Apache Kafkas, started and killed."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from parkway.testing.kafka import Broker, BrokerError, PipKafka, open_broker
from parkway.testing.kafka.ports import free_ports

pytestmark = pytest.mark.integration

TOPIC = "numbers"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PipKafka, Path]]:
    """A broker and its folder, for the tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("kafka")
    with PipKafka(data_dir=folder) as kafka:
        create_topic(kafka)
        yield kafka, folder


def client(kafka: Broker, **settings: Any) -> dict[str, Any]:
    return {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, **settings}


def create_topic(kafka: Broker, *, replicas: int = 1) -> None:
    topic = NewTopic(TOPIC, num_partitions=1, replication_factor=replicas)
    admin = AdminClient(client(kafka))  # a name: its requests end with it
    admin.create_topics([topic])[TOPIC].result(10)


def produce(kafka: Broker, value: bytes) -> None:
    """Return once all in-sync replicas have the record."""
    errors: list[Any] = []
    producer = Producer(client(kafka, acks="all", **{"message.timeout.ms": 30_000}))
    producer.produce(TOPIC, value, on_delivery=lambda error, _: errors.append(error))
    producer.flush(40)
    assert errors == [None]


def consume(kafka: Broker, count: int) -> list[bytes | None]:
    consumer = Consumer(client(kafka, **{"group.id": "readers", "enable.auto.commit": False}))
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    records = consumer.consume(count, timeout=30)
    consumer.close()
    assert [record.error() for record in records] == [None] * count
    return [record.value() for record in records]


def answers(kafka: Broker) -> bool:
    try:
        AdminClient(client(kafka)).list_topics(timeout=0.5)
    except KafkaException:
        return False
    return True


def topics(kafka: Broker) -> set[str]:
    return set(AdminClient(client(kafka)).list_topics(timeout=10).topics)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: Callable[[], bool], *, seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.02)


def test_it_answers_in_a_session_of_its_own_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with PipKafka() as kafka:
        create_topic(kafka)
        produce(kafka, b"1")
        assert consume(kafka, 1) == [b"1"]
        (pid,) = kafka.pids.values()
        # A Ctrl-C in the terminal goes to the foreground group of its session.
        assert os.getsid(pid) != os.getsid(0)
        assert list(tmp_path.iterdir())
    assert not runs(pid)
    assert kafka.pids == {}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_keeps_its_data_and_its_number_of_brokers_until_a_fresh_start(tmp_path: Path) -> None:
    folder = tmp_path / "data, of ünïcode"
    with PipKafka(data_dir=folder) as kafka:
        create_topic(kafka)
        produce(kafka, b"1")
    port = free_ports(1)[0]
    with PipKafka(data_dir=folder, port=port) as kafka:
        assert kafka.bootstrap_servers == f"127.0.0.1:{port}"
        produce(kafka, b"2")
        assert consume(kafka, 2) == [b"1", b"2"]
    with pytest.raises(BrokerError, match=r"was made for 1 broker\(s\), not for 3: start 1, start fresh"):
        PipKafka(data_dir=folder, brokers=3).start()
    with PipKafka(data_dir=folder, fresh=True) as kafka:
        assert TOPIC not in topics(kafka)
        kafka.pause()  # a paused one can be stopped, too


def test_a_killed_broker_comes_back_where_it_was(shared: tuple[PipKafka, Path]) -> None:
    kafka, _ = shared
    produce(kafka, b"1")
    servers, pids = kafka.bootstrap_servers, kafka.pids
    kafka.kill()
    assert kafka.pids == {}
    with pytest.raises(KafkaException):
        AdminClient(client(kafka)).list_topics(timeout=0.5)
    kafka.restart()
    assert kafka.bootstrap_servers == servers
    assert kafka.pids != pids
    assert consume(kafka, 1) == [b"1"]


def test_a_paused_broker_answers_when_it_is_resumed(shared: tuple[PipKafka, Path]) -> None:
    kafka, _ = shared
    kafka.pause()
    try:
        wait_until(lambda: not answers(kafka))  # its threads stop one after the other
    finally:
        kafka.resume()
    assert TOPIC in topics(kafka)


def test_a_second_broker_on_the_same_folder(shared: tuple[PipKafka, Path]) -> None:
    first, folder = shared
    second = PipKafka(data_dir=folder)
    message = f"{folder} is in use by the broker that process {os.getpid()} started: stop that one"
    with pytest.raises(BrokerError, match=re.escape(message)):
        second.start()
    second.stop()
    assert first.pids
    assert TOPIC in topics(first)


def test_it_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = f"""
import pathlib, sys
from parkway.testing.kafka import PipKafka
kafka = PipKafka(data_dir=pathlib.Path({str(tmp_path)!r})).start()
print(kafka.pids[1], flush=True)
sys.stdin.read()
"""
    starter = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    assert runs(pid)
    starter.send_signal(signal.SIGKILL)
    starter.communicate()
    wait_until(lambda: not runs(pid))
    with PipKafka(data_dir=tmp_path) as kafka:  # nor does its lock stay
        assert topics(kafka) == set()


def test_three_brokers_accept_acks_all_after_one_was_killed() -> None:
    with PipKafka(brokers=3) as kafka:
        create_topic(kafka, replicas=3)
        admin = AdminClient(client(kafka))
        resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC)
        assert admin.describe_configs([resource])[resource].result(10)["min.insync.replicas"].value == "2"
        produce(kafka, b"1")
        partition = admin.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions[0]
        assert sorted(partition.isrs) == [1, 2, 3]

        kafka.kill(partition.leader)
        assert sorted([*kafka.pids, partition.leader]) == [1, 2, 3]
        produce(kafka, b"2")
        assert consume(kafka, 2) == [b"1", b"2"]

        kafka.restart(partition.leader)
        wait_until(lambda: len(admin.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions[0].isrs) == 3)


def test_a_broker_that_ends_early_says_why() -> None:
    kafka = PipKafka(overrides={"metric.reporters": "no.such.Reporter"})
    with pytest.raises(BrokerError, match="ended with exit code 1 while it was starting") as raised:
        kafka.start()
    assert "no.such.Reporter" in str(raised.value)
    assert "PARKWAY_BOOTSTRAP_SERVERS" in str(raised.value)
    assert kafka.pids == {}


def test_a_setting_that_kafka_refuses() -> None:
    with pytest.raises(BrokerError, match=r"(?s)could not format .*nonsense"):
        PipKafka(overrides={"process.roles": "nonsense"}).start()


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(BrokerError, match=f"port {port} on 127.0.0.1 is in use"):
            PipKafka(port=port).start()


def test_the_plugin_gives_one_broker_and_many_namespaces(
    parkway_kafka: Broker, parkway_namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.fullmatch(r"t-[0-9a-f]{6}", parkway_namespace)
    monkeypatch.setenv("PARKWAY_BOOTSTRAP_SERVERS", parkway_kafka.bootstrap_servers)
    with open_broker() as same:
        assert same.bootstrap_servers == parkway_kafka.bootstrap_servers
        assert topics(same) == topics(parkway_kafka)
