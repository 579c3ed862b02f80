"""Topics that exist already, on a real Kafka: five partitions onto three, JSON, Avro with a registry, CloudEvents."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from io import BytesIO

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions
from fastavro import schemaless_writer
from fastavro.schema import parse_schema
from installation import Installation, event, wait_for
from schema_registry_server import RegistryServer

from parkway.schemas.plan import SourcePlan

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "number", "type": "int"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    server = RegistryServer()
    server.start()
    yield server
    server.stop()


def reading(here: Installation, *sources: SourcePlan) -> None:
    here.apply(here.plan.model_copy(update={"sources": sources}).with_build())


def test_five_foreign_partitions_onto_three_keep_the_order_of_keys(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    topic = f"{here.settings.namespace}.shop"
    here.create_topic(topic, 5)
    reading(here, SourcePlan(topic=topic, type="step"))
    for name in ("r0", "r1"):
        here.router(name)
    here.worker("w0", "step")
    for number in range(150):
        here.emit(f'{{"number": {number}}}'.encode(), topic=topic, key=f"k{number % 7}", partition=number % 7 % 5)
    here.emit(b"[1]", topic=topic, partition=4)
    here.emit(event("other"), topic=topic, partition=3)  # attributes like any others
    here.flush()
    outputs = here.wait_read(here.topics.outputs, 150)
    by_key: dict[bytes | None, list[int]] = defaultdict(list)
    for one in outputs:
        number = one.json["attributes"]["output"]["number"]
        by_key[one.key].append(number)
        assert one.partition == number % 7 % 5 % 3
        assert one.headers["parkway-root"].decode().startswith(f"{topic}:{number % 7 % 5}:")
    assert by_key == {f"k{key}".encode(): list(range(key, 150, 7)) for key in range(7)}
    dead = here.wait_read(here.topics.dlq, 2)
    origins = {one.headers["parkway-origin"].decode().rpartition("/")[0]: one.partition for one in dead}
    assert origins == {f"{topic}/4": 1, f"{here.topics.action('step')}/0": 0}
    roots = [one.headers["parkway-root"] for one in here.read(here.topics.action("step"))]
    assert len(roots) == len(set(roots)) == 151


def test_a_source_that_grows_and_is_deleted_while_the_router_runs(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    topic = f"{here.settings.namespace}.shop"
    here.create_topic(topic, 1)
    reading(here, SourcePlan(topic=topic, type="order"))
    here.router(PARKWAY_KAFKA_TOPIC_METADATA_REFRESH_INTERVAL_MS="1000")
    here.worker("w0", "process")
    here.emit(b'{"number": 0}', topic=topic, partition=0)
    here.flush()
    here.wait_read(here.topics.outputs, 1)
    here.admin.create_partitions([NewPartitions(topic, 2)])[topic].result()
    # A producer of its own: the other one does not know of the new partition yet.
    producer = Producer({"bootstrap.servers": here.settings.bootstrap_servers, "log_level": 0})
    wait_for("the producer knows it", lambda: len(producer.list_topics(topic, 10).topics[topic].partitions) == 2)
    producer.produce(topic, b'{"number": 1}', partition=1)
    assert producer.flush(30) == 0
    here.wait_read(here.topics.outputs, 2)
    here.admin.delete_topics([topic])[topic].result()
    here.emit(event("order", number=2))
    here.flush()
    outputs = here.wait_read(here.topics.outputs, 3)
    assert sorted(one.json["attributes"]["output"]["number"] for one in outputs) == [0, 1, 2]


def test_avro_of_the_registry_and_cloudevents(install: Callable[..., Installation], registry: RegistryServer) -> None:
    here = install("agents:Orders")
    avro, cloud = (f"{here.settings.namespace}.{name}" for name in ("avro", "cloud"))
    for name in (avro, cloud):
        here.create_topic(name, 1)
    reading(here, SourcePlan(topic=avro, type="order", format="avro"), SourcePlan(topic=cloud, format="cloudevents"))
    refused = here.parkway("router", "--plan", str(here.plan_file))
    assert refused.returncode == 2
    assert "PARKWAY_SCHEMA_REGISTRY" in refused.stderr
    here.router(PARKWAY_SCHEMA_REGISTRY=registry.url)
    buffer = BytesIO()
    schemaless_writer(buffer, parse_schema(ORDER), {"number": 1, "at": 1_777_000_000_500})
    schema_id = registry.add(json.dumps(ORDER))
    here.emit(b"\x00" + schema_id.to_bytes(4, "big") + buffer.getvalue(), topic=avro, key="a")
    here.emit(b"\x00\x00\x00\x00\x63", topic=avro, key="a")
    binary = {"ce_specversion": "1.0", "ce_id": "c-1", "ce_source": "/s", "ce_type": "step"}
    here.emit(b'{"number": 2}', topic=cloud, headers=binary)
    here.emit(b'{"number": 3}', topic=cloud, headers={**binary, "ce_type": "_tool_response_event"})
    here.flush()
    (order,) = here.wait_read(here.topics.action("process"), 1)
    assert order.json["attributes"] == {"number": 1, "at": "2026-04-24T03:06:40.500Z"}
    (step,) = here.wait_read(here.topics.action("step"), 1)
    assert (step.json["id"], step.json["attributes"]) == ("c-1", {"number": 2})
    reasons = {one.headers["parkway-error-type"] for one in here.wait_read(here.topics.dlq, 2)}
    assert reasons == {b"unknown_schema", b"forbidden_type"}


def test_a_source_that_is_missing_is_said_and_never_created(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    topic = f"{here.settings.namespace}.nowhere"
    reading(here, SourcePlan(topic=topic, type="order"))
    applied = here.command("topics", "apply", "--plan", str(here.plan_file))
    assert applied.code == 0
    assert f"source topic {topic} is missing" in applied.out
    said = f"missing source topic {topic}: it is yours"
    put = here.command("plan", "apply", str(here.plan_file), "--yes")
    assert put.code == 2
    assert said in put.err
    router = here.parkway("router", "--plan", str(here.plan_file))
    assert router.returncode == 2
    assert said in router.stderr
    assert topic not in here.admin.list_topics(timeout=10).topics
    reading(here, SourcePlan(topic=here.topics.outputs, type="order"))
    ours = here.command("plan", "apply", str(here.plan_file), "--yes")
    assert ours.code == 2
    assert "one of Parkway's own" in ours.err
