"""Routing on one real Kafka, side by side: our router, a bare loop, and the frameworks that people would take.

    python benchmarks/router.py             # the table, a break-down of our batch, the latency of a hop
    python benchmarks/router.py --check     # exit 1 when a ratio of the bars is missed
    python benchmarks/router.py --quick     # a minute: our router and the bare loop, few events

Every program reads the same events, decodes them with orjson, matches 100 conditions and publishes to the topics of
the actions. The frameworks run in environments of their own (made the first time), with conditions written by hand.
"""

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from harness import breakdown, hop
from harness.contestants import BARE, FASTSTREAM, FRAMEWORKS, QUIX, ROUTERS, Contestant
from harness.report import Bars, table
from harness.routing_run import Run, route
from harness.topics import APPEND_TIME
from harness.workloads import WORKLOADS, Workload

from parkway.runtime.logs import configure_logs
from parkway.testing.kafka import PipKafka

HUNDRED, TEN, TEN_THOUSAND = ROUTERS
EVENTS = {"orders": 100_000, "github": 30_000}


def compare(
    bootstrap: str, folder: Path, workload: Workload, contestants: list[Contestant], events: int, rounds: int
) -> dict[Contestant, list[Run]]:
    """Rounds of all, one after the other, so that what else runs on the machine meets all of them."""
    runs: dict[Contestant, list[Run]] = defaultdict(list)
    number = 0
    for _ in range(rounds):
        for contestant in contestants:
            number += 1
            name = f"{workload.name}-{number}"
            runs[contestant].append(route(bootstrap, folder, name, contestant, workload, events))
    return runs


def ratios(runs: dict[Contestant, list[Run]], above: Contestant, below: Contestant) -> list[float]:
    """Of the rates, round by round."""
    return [one.rate / other.rate for one, other in zip(runs[above], runs[below], strict=True)]


def show(workload: Workload, runs: dict[Contestant, list[Run]]) -> None:
    size = sum(map(len, workload.bodies)) / len(workload.bodies)
    print(f"\n{workload.name}: events of {size:,.0f} bytes\n")
    rows = []
    for contestant, found in runs.items():
        to_bare = ratios(runs, contestant, BARE)
        rows.append(
            [
                contestant.label,
                contestant.guarantee,
                f"{median(run.rate for run in found):,.0f}",
                f"{median(run.cpu for run in found):.1f}",
                f"{max(run.memory for run in found):.0f}",
                f"{median(to_bare):.2f} ({min(to_bare):.2f} to {max(to_bare):.2f})",
            ]
        )
    table(["", "delivery", "events/s", "CPU us/event", "peak MB", "rate to the bare loop's"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of events")
    parser.add_argument("--workload", choices=sorted(WORKLOADS), action="append", help="only this one")
    parser.add_argument("--hop", action="store_true", help="only the latency of a hop")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument("--quick", action="store_true", help="a smoke run, without the frameworks")
    arguments = parser.parse_args()
    configure_logs(level="error")
    rounds, scale = (1, 0.1) if arguments.quick else (arguments.rounds, arguments.scale)
    contestants = [BARE, *ROUTERS] + ([] if arguments.quick else FRAMEWORKS)
    bars = Bars()
    with PipKafka(overrides=APPEND_TIME) as kafka, tempfile.TemporaryDirectory() as name:
        bootstrap, folder = kafka.bootstrap_servers, Path(name)
        for chosen in [] if arguments.hop else arguments.workload or list(WORKLOADS):
            workload = WORKLOADS[chosen]()
            workload.check()
            runs = compare(bootstrap, folder, workload, contestants, int(EVENTS[chosen] * scale), rounds)
            show(workload, runs)
            print()
            bars.at_least(f"{chosen}: router / bare loop", ratios(runs, HUNDRED, BARE), 0.9)
            if not arguments.quick:
                bars.at_least(f"{chosen}: router / Quix Streams", ratios(runs, HUNDRED, QUIX), 1.5)
                bars.at_least(f"{chosen}: router / FastStream, ack", ratios(runs, HUNDRED, FASTSTREAM), 20)
            slower = [many.cpu / few.cpu for many, few in zip(runs[TEN_THOUSAND], runs[TEN], strict=True)]
            bars.at_most(f"{chosen}: CPU of 10,000 triggers / of 10", slower, 3)
        if not arguments.hop:
            breakdown.show(bootstrap, WORKLOADS["orders"](), int(EVENTS["orders"] * scale))
        seconds = 3 if arguments.quick else 10
        hops = [hop.latencies(bootstrap, folder, one, WORKLOADS["orders"](), seconds) for one in range(rounds)]
        hop.show(hops, bars)
    return 1 if arguments.check and bars.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
