"""The `server.properties` of a KRaft node that is broker and controller in one."""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parkway.testing.kafka.ports import HOST
from parkway.testing.kafka.security import Security, security_properties

LOG_DIRECTORY = "data"  # relative: the node runs in its folder, whatever characters its path has


@dataclass(frozen=True)
class Address:
    """Where one node listens."""

    node: int
    broker_port: int
    controller_port: int
    inside_port: int | None = None  # of a secured broker: a plain listener, for the nodes and for our own probes

    @property
    def bootstrap_server(self) -> str:
        return f"{HOST}:{self.broker_port}"

    @property
    def probed_server(self) -> str:
        """Where a client without credentials is answered."""
        return f"{HOST}:{self.inside_port or self.broker_port}"


def server_properties(
    address: Address, cluster: Sequence[Address], overrides: Mapping[str, str], security: Security | None = None
) -> dict[str, str]:
    """Return the properties of the node at `address` in a cluster of one or three."""
    voters = ",".join(f"{each.node}@{HOST}:{each.controller_port}" for each in cluster)
    broker, controller = address.bootstrap_server, f"{HOST}:{address.controller_port}"
    return {
        "process.roles": "broker,controller",
        "node.id": str(address.node),
        "controller.quorum.voters": voters,
        "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{broker}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": LOG_DIRECTORY,
        **cluster_properties(len(cluster)),
        **(security_properties(security, broker, address.probed_server, controller) if security is not None else {}),
        **overrides,
    }


def cluster_properties(nodes: int) -> dict[str, str]:
    """Return the properties that are the same for all nodes, wherever they run."""
    in_sync = str(max(1, nodes - 1))
    return {
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(nodes),
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": str(nodes),
        "transaction.state.log.replication.factor": str(nodes),
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": str(nodes),
        "share.coordinator.state.topic.min.isr": in_sync,
        # Few partitions: each costs files and time at every start.
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.num.partitions": "8",
        "share.coordinator.state.topic.num.partitions": "8",
        "group.initial.rebalance.delay.ms": "0",
        # A killed broker is noticed after 3 s, not 9 s, and may come back as early.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
    }


def render(properties: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def new_cluster_id() -> str:
    """Return a random id in Kafka's form: 16 bytes in URL-safe base64, the first one 0 (no leading `-`)."""
    return urlsafe_b64encode(b"\0" + secrets.token_bytes(15)).decode("ascii").rstrip("=")
