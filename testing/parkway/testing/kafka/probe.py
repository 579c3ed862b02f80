"""Whether a broker answers: asked by a client, as its users will be."""

import time
from collections.abc import Callable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

_ATTEMPT_SECONDS = 2.0


def nodes_seen_from(bootstrap_servers: str, *, timeout: float) -> set[int]:
    """Return the ids of the live nodes that the broker names, within `timeout` seconds.

    Raises: KafkaException when no broker answers.
    """
    # log_level 0: that a broker which is only coming up refuses connections is no news.
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    return set(admin.list_topics(timeout=timeout).brokers)


def wait_for_nodes(bootstrap_servers: str, nodes: set[int], *, deadline: float, check: Callable[[], None]) -> bool:
    """Wait until a broker answers and names all of `nodes` as live; False at `deadline` (monotonic).

    `check` is called between the attempts and may raise to give up.
    """
    while time.monotonic() < deadline:
        check()
        try:
            seen = nodes_seen_from(bootstrap_servers, timeout=_ATTEMPT_SECONDS)
        except KafkaException:
            continue  # the attempt itself has waited
        if nodes <= seen:
            return True
        time.sleep(0.05)
    return False
