"""Integration tests of your agent, on Kafka in a container: `pytest_plugins = ["parkway.testing.pytest"]`.

Put that line into the `conftest.py` of your tests' root folder. Then `parkway_kafka` is a container of
`KAFKA_IMAGE` (default: `apache/kafka`), as long as the environment chooses no other broker
(`parkway.testing.kafka.open_broker` says how), and

    def test_a_ticket_is_triaged(parkway_stack):
        support = parkway_stack("support:Support")
        ticket = support.send("ticket", {"customer": "ann", "amount": 500, "text": "It broke."})
        assert support.output_of(ticket)["ticket"]

is a whole test. Without that line the same fixtures are there (`parkway.testing.plugin`, which pytest finds by
itself), with the Apache Kafka that pip installs: no Docker needed.
"""

import pytest

from parkway.testing.plugin import BROKER


def pytest_configure(config: pytest.Config) -> None:
    """Choose the broker of `parkway_kafka`."""
    config.stash[BROKER] = "docker"
