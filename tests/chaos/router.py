"""Routers under random kills, stops, restarts and pauses of the broker: nothing lost, nothing twice, all in order.

    python -m tests.chaos.router [--events 200000] [--routers 3] [--seconds 120] [--seed N]

Every action topic is compared with a plain evaluation of its trigger for every event, per key in order. Exit 1 when
they differ; the seed is printed, and the same one strikes in the same order (not at the same moment).
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from installation import installation
from router_chaos import Chaos

from parkway.runtime.logs import configure_logs
from parkway.testing.kafka import PipKafka


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--routers", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    arguments = parser.parse_args()
    configure_logs(level="error")
    print(f"seed {arguments.seed}")
    overrides = {
        "group.min.session.timeout.ms": "1000",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    }
    environment = {"PARKWAY_SESSION_TIMEOUT": "2", "PARKWAY_TRANSACTION_TIMEOUT": "3"}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, PipKafka(overrides=overrides) as kafka:
        place = Path(folder)
        with installation(kafka.bootstrap_servers, "chaos", "agents:Routes", place) as here:
            chaos = Chaos(
                here,
                kafka,
                events=arguments.events,
                routers=arguments.routers,
                seed=arguments.seed,
                seconds=arguments.seconds,
                environment=environment,
            )
            try:
                chaos.run()
            except AssertionError as error:
                print(f"{error}\n{dict(chaos.done)}")
                return 1
            for reason in chaos.reasons:
                print(f"a router ended with 1, and another was started:\n{reason}")
    print(f"{arguments.events} events, each once and in order, in {time.monotonic() - began:.0f} s: {dict(chaos.done)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
