"""The compose file for real: three brokers, routers and workers in containers, and the demo's webhooks through them."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import pytest
from compose import Compose, all_are_healthy, docker, state
from confluent_kafka import Producer
from examples.github_triage.demo.cluster import Cluster
from examples.github_triage.demo.deliveries import load_deliveries
from examples.github_triage.demo.expected import expected_of
from examples.github_triage.demo.readback import problems, read_back
from examples.github_triage.demo.watch import Watch

from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.schemas.topics import Topics
from parkway.testing.kafka.ports import free_ports

AGENT = "examples.github_triage.agent:GithubTriage"
PARTITIONS = 6
TOPICS = Topics("parkway")

pytestmark = [pytest.mark.requires("docker"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def ports() -> list[int]:
    return free_ports(3)


@pytest.fixture(scope="module")
def stack(ports: list[int]) -> Iterator[Compose]:
    compose = Compose(
        # Shorter than in production: partitions of a killed container are served again sooner.
        PARKWAY_SESSION_TIMEOUT="6",
        **{f"KAFKA_PORT_{number}": str(port) for number, port in enumerate(ports, 1)},
    )
    try:
        compose.up()
        yield compose
    finally:
        compose.down()


def test_the_observability_profile_is_well_formed() -> None:
    """Its images are not started: CI has no registry."""
    services = Compose()("--profile", "observability", "config", "--services").split()
    assert {"prometheus", "grafana", "otel-collector"} <= set(services)


def test_every_container_runs_as_it_should(stack: Compose) -> None:
    plan = stack.containers("plan")
    assert [state(one)["ExitCode"] for one in plan] == [0]
    for service in ("kafka-1", "kafka-2", "kafka-3", "router", "worker"):
        _wait(f"{service} is healthy", partial(all_are_healthy, stack, service), stack)
    assert len(stack.containers("router")) == len(stack.containers("worker")) == 2
    for container in (*stack.containers("router"), *stack.containers("worker")):
        assert docker("exec", container, "id", "-u").strip() == "1000"


@pytest.mark.parametrize("service", ["router", "worker"])
def test_a_restart_ends_in_order(stack: Compose, service: str) -> None:
    """Before anything is killed: a process that a dead broker has caught in a call ends with 1, as it should."""
    container = stack.containers(service)[0]
    docker("stop", "--time", "60", container)
    assert state(container)["ExitCode"] == 0, docker("logs", "--tail", "40", container)
    docker("start", container)
    _wait(f"{service} is healthy", partial(all_are_healthy, stack, service), stack)


def test_the_demo_loses_nothing_when_containers_are_killed(stack: Compose, ports: list[int]) -> None:
    servers = ",".join(f"localhost:{port}" for port in ports)
    deliveries, plan = load_deliveries(), build_plan(load_agent(AGENT), AGENT)
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 2})
    with (
        closing(Cluster(servers, TOPICS, plan, PARTITIONS)) as cluster,
        closing(Watch(servers, TOPICS, PARTITIONS)) as watch,
    ):
        _wait("all groups are complete", lambda: cluster.complete_groups() == cluster.groups.keys(), stack)
        for delivery in deliveries[: len(deliveries) // 2]:
            producer.produce(TOPICS.requests, delivery.to_json(), delivery.key)
        producer.flush(30)

        def chats_are_parked() -> bool:
            watch.take(0.2)
            return len(watch.parked) >= 3

        _wait("chats are parked", chats_are_parked, stack)
        for service in ("worker", "router", "kafka-3"):
            docker("kill", stack.containers(service)[0])
        for delivery in deliveries[len(deliveries) // 2 :]:
            producer.produce(TOPICS.requests, delivery.to_json(), delivery.key)
        assert producer.flush(60) == 0
        # `docker kill` counts as a wish: no restart policy brings a container back.
        for service in ("kafka-3", "worker", "router"):
            docker("start", stack.containers(service)[0])

        ends: dict[tuple[str, int], int] = {}

        def quiet() -> bool:
            watch.catch_up(0.5)
            before = dict(ends)
            ends.clear()
            ends.update(cluster.high_watermarks([TOPICS.outputs, TOPICS.parked, *_read_topics(cluster)]))
            return cluster.lag() == 0 and not watch.parked and before == ends

        _wait("everything is handled", quiet, stack, seconds=240)
        found = read_back(servers, cluster, TOPICS, plan)
    # On a machine that is busy with much else a chat may run into its deadline; it ends once all the same.
    assert [failed for failed in found.failed if "deadline_exceeded" not in failed] == []
    assert list(problems(expected_of(deliveries), found, failures_allowed=True)) == []


def _read_topics(cluster: Cluster) -> set[str]:
    return {topic for topics in cluster.groups.values() for topic in topics}


def _wait(what: str, condition: Callable[[], bool], stack: Compose, seconds: float = 180) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            raise AssertionError(f"not within {seconds:g} s: {what}\n{stack.logs()}")
        time.sleep(0.2)
