"""Apache Kafka in Docker containers, by testcontainers (the extra `parkway[docker]`).

It relies on what the image `apache/kafka` documents: variables `KAFKA_*` become properties, and
`/etc/kafka/docker/run` formats and starts.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from docker.errors import DockerException
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from parkway.testing.kafka.errors import OTHER_BROKERS, BrokerError
from parkway.testing.kafka.probe import wait_for_nodes
from parkway.testing.kafka.properties import cluster_properties, new_cluster_id

DEFAULT_IMAGE = "apache/kafka:4.4.0"
_START_SECONDS = 120.0
_LOG_LINES = 20

# Inside the container. Clients come by the host, the other nodes by the Docker network.
_HOST_PORT, _BROKER_PORT, _CONTROLLER_PORT = 9092, 9093, 9094
_LISTENERS_FILE = "/tmp/advertised-listeners"  # noqa: S108  # in the container, which has one user

# The port on the host is known only once the container runs, so the broker waits for it.
_WAIT_AND_RUN = (
    f"while [ ! -s {_LISTENERS_FILE} ]; do sleep 0.05; done; "
    f"KAFKA_ADVERTISED_LISTENERS=$(cat {_LISTENERS_FILE}); export KAFKA_ADVERTISED_LISTENERS; "
    "exec /etc/kafka/docker/run"
)


@contextmanager
def docker_kafka(*, brokers: int, overrides: Mapping[str, str]) -> Iterator[str]:
    """Yield the bootstrap servers of `brokers` new containers of `KAFKA_IMAGE`; they are removed afterwards.

    Raises: BrokerError when no Docker engine answers,
        the image cannot be had, or the broker does not come up.
    """
    image = os.environ.get("KAFKA_IMAGE") or DEFAULT_IMAGE
    with ExitStack() as started:
        try:
            containers = _start(started, image, brokers, overrides)
            servers = ",".join(_host_address(container) for container in containers)
        except DockerException as error:
            raise BrokerError(
                f"no Apache Kafka from Docker (image {image}): {error}\n"
                "Is the engine running, and may this user reach it? KAFKA_IMAGE names another image. "
                "Or unset PARKWAY_BROKER: the broker that pip installs needs no Docker."
            ) from error
        _wait(servers, containers)
        yield servers


def _start(started: ExitStack, image: str, brokers: int, overrides: Mapping[str, str]) -> list[DockerContainer]:
    """Start all nodes; `started` removes what was started. No node is ready before most of them run."""
    network = started.enter_context(Network())
    names = [f"kafka-{node}" for node in range(1, brokers + 1)]
    cluster_id = new_cluster_id()
    containers = []
    for node, name in enumerate(names, start=1):
        variables = _variables(_properties(node, names) | dict(overrides))
        container = (
            DockerContainer(image)
            .with_envs(CLUSTER_ID=cluster_id, KAFKA_HEAP_OPTS="-Xmx512m", **variables)
            .with_exposed_ports(_HOST_PORT)
            .with_network(network)
            .with_network_aliases(name)
            .with_command(["sh", "-c", _WAIT_AND_RUN])
        )
        started.enter_context(container)
        listeners = f"PLAINTEXT://{_host_address(container)},BROKER://{name}:{_BROKER_PORT}"
        container.copy_into_container(listeners.encode("ascii"), _LISTENERS_FILE)
        containers.append(container)
    return containers


def _properties(node: int, names: Sequence[str]) -> dict[str, str]:
    voters = ",".join(f"{number}@{name}:{_CONTROLLER_PORT}" for number, name in enumerate(names, start=1))
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "listeners": f"PLAINTEXT://:{_HOST_PORT},BROKER://:{_BROKER_PORT},CONTROLLER://:{_CONTROLLER_PORT}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "controller.listener.names": "CONTROLLER",
        **cluster_properties(len(names)),
    }


def _variables(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties as the image reads them: `a.b_c` is `KAFKA_A_B__C`."""
    return {"KAFKA_" + name.replace("_", "__").replace(".", "_").upper(): value for name, value in properties.items()}


def _host_address(container: DockerContainer) -> str:
    return f"{container.get_container_host_ip()}:{container.get_exposed_port(_HOST_PORT)}"


def _wait(servers: str, containers: Sequence[DockerContainer]) -> None:
    def check() -> None:
        for container in containers:
            container.reload()
            if container.status == "exited":
                raise BrokerError(f"Apache Kafka ended in its container:\n{_log_end(container)}")

    nodes = set(range(1, len(containers) + 1))
    if not wait_for_nodes(servers, nodes, deadline=time.monotonic() + _START_SECONDS, check=check):
        logs = "\n".join(_log_end(container) for container in containers)
        raise BrokerError(f"Apache Kafka in Docker did not answer in time at {servers}:\n{logs}\n{OTHER_BROKERS}")


def _log_end(container: DockerContainer) -> str:
    lines = b"".join(container.get_logs()).decode(errors="replace").splitlines()
    return "\n".join(lines[-_LOG_LINES:])
