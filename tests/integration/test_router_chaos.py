"""A short run of chaos; `python -m tests.chaos.router` is the long one."""

from pathlib import Path

from installation import installation
from router_chaos import Chaos

from parkway.testing.kafka import PipKafka


def test_ten_thousand_events_under_random_deaths(quick_kafka: PipKafka, parkway_namespace: str, tmp_path: Path) -> None:
    with installation(quick_kafka.bootstrap_servers, parkway_namespace, "agents:Routes", tmp_path) as here:
        environment = {"PARKWAY_SESSION_TIMEOUT": "2", "PARKWAY_TRANSACTION_TIMEOUT": "2"}
        chaos = Chaos(here, quick_kafka, events=10_000, routers=2, seed=7, seconds=12, environment=environment)
        chaos.run()
