from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from installation import Installation, installation

from parkway.testing.kafka import PipKafka


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def quick_kafka() -> Iterator[PipKafka]:
    """Notices the dead sooner than brokers do by default."""
    overrides = {
        "group.min.session.timeout.ms": "1000",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    }
    with PipKafka(overrides=overrides) as kafka:
        yield kafka


@pytest.fixture
def install(parkway_kafka: object, parkway_namespace: str, tmp_path: Path) -> Iterator[Callable[..., Installation]]:
    """Make an installation of an agent: `install("agents:Orders")`. Its processes end with the test."""
    with ExitStack() as stack:

        def make(agent: str, partitions: int = 3) -> Installation:
            return stack.enter_context(
                installation(parkway_kafka.bootstrap_servers, parkway_namespace, agent, tmp_path, partitions)
            )

        yield make
