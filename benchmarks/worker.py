"""Workers on one real Kafka: a no-op action beside other frameworks, slow calls, and chats over the whole pipeline.

    python benchmarks/worker.py             # everything
    python benchmarks/worker.py --check     # exit 1 when a bar is missed
    python benchmarks/worker.py --quick     # a minute, without the frameworks

A no-op, and an action that sends one output, are measured against FastStream's acknowledging subscriber and a bare
aiokafka gather loop, each in an environment of its own. A call is `asyncio.sleep`. What should be one call of 30 s in
every 100 is one of 1 s here.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from harness import chats
from harness.contestants import Contestant
from harness.report import Bars, table
from harness.working_run import AGENT, HERE, Run, fill_action, settings_of, work, work_by

from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.runtime.logs import configure_logs
from parkway.schemas.plan import Plan
from parkway.testing.kafka import PipKafka

FASTSTREAM = Contestant("FastStream, ack", "at least once", program="faststream", share=0.1)
GATHER = Contestant("aiokafka gather loop", "at least once", program="aiokafka")
CALL_SECONDS = 0.02
SLOW_SECONDS = 1.0
CONCURRENT = 200


def side_by_side(
    bootstrap: str, plan: Plan, action: str, records: int, rounds: int, others: list[Contestant], bars: Bars
) -> None:
    """The same records for our worker and the others. `nothing`: a no-op; `echo`: one output for each record."""
    ours: list[Run] = []
    theirs: dict[Contestant, list[Run]] = {other: [] for other in others}
    for number in range(rounds):
        settings = settings_of(bootstrap, f"{action}{number}", plan)
        fill_action(settings, action, ({"note": "x" * 580} for _ in range(records)))
        ours.append(work(settings, action, records))
        for other in others:
            theirs[other].append(work_by(other, settings, action, int(records * other.share)))
    print(f"\naction `{action}`, records of 640 bytes, {rounds} rounds\n")
    rows = [["Parkway worker", "exactly once", *_numbers(ours)]]
    rows += [[other.name, other.guarantee, *_numbers(runs)] for other, runs in theirs.items()]
    table(["", "delivery", "records/s", "CPU us/record"], rows)
    print()
    bars.at_most(f"{action}: CPU of a record", [run.cpu for run in ours], 100, " us")
    for other, bar in ((FASTSTREAM, 20), (GATHER, 1.0)):
        if other in theirs:
            found = [one.rate / two.rate for one, two in zip(ours, theirs[other], strict=True)]
            bars.at_least(f"{action}: worker / {other.name}", found, bar)


def _numbers(runs: list[Run]) -> list[str]:
    return [f"{median(run.rate for run in runs):,.0f}", f"{median(run.cpu for run in runs):.0f}"]


def calls(bootstrap: str, plan: Plan, records: int, rounds: int, bars: Bars) -> None:
    """Many calls at once, and a few that take long."""
    ideal = CONCURRENT / CALL_SECONDS
    rates = []
    for number in range(rounds):
        settings = settings_of(bootstrap, f"calls{number}", plan)
        fill_action(settings, "call", ({"seconds": CALL_SECONDS} for _ in range(records)))
        rates.append(work(settings, "call", records, "--concurrency", str(CONCURRENT)).rate)
    print(f"\n{CONCURRENT} calls of {CALL_SECONDS * 1000:.0f} ms at once, one process: {median(rates):,.0f}/s")
    bars.at_least(f"of the ideal {ideal:,.0f}/s", [rate / ideal for rate in rates], 0.9)


def slow_calls(bootstrap: str, plan: Plan, records: int, rounds: int, bars: Bars) -> None:
    """The rate of the calls that are not slow, with one slow one in every 100 and without."""
    ratios = []
    for number in range(rounds):
        found = []
        for every in (0, 100):
            settings = settings_of(bootstrap, f"slow{number}-{every}", plan)
            seconds = (SLOW_SECONDS if every and one % every == 0 else CALL_SECONDS for one in range(records))
            fill_action(settings, "call", ({"seconds": each} for each in seconds))
            rate = work(settings, "call", records, "--concurrency", "1000").rate
            found.append(rate * (1 - 1 / every) if every else rate * 0.99)
        ratios.append(found[1] / found[0])
    print(f"\none call of {SLOW_SECONDS:.0f} s in every 100, the others {CALL_SECONDS * 1000:.0f} ms, 1,000 at once")
    bars.at_least("rate of the others, with slow ones / without", ratios, 0.95)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--chats", type=int, default=2_000)
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument("--quick", action="store_true", help="a smoke run, without the frameworks")
    arguments = parser.parse_args()
    configure_logs(level="error")
    sys.path.insert(0, str(HERE))
    plan = build_plan(load_agent(AGENT), AGENT)
    quick = arguments.quick
    records, rounds = (20_000, 1) if quick else (arguments.records, arguments.rounds)
    bars = Bars()
    with PipKafka() as kafka, tempfile.TemporaryDirectory() as name:
        bootstrap = kafka.bootstrap_servers
        for action in ("nothing", "echo"):
            side_by_side(bootstrap, plan, action, records, rounds, [] if quick else [FASTSTREAM, GATHER], bars)
        calls(bootstrap, plan, records, rounds, bars)
        slow_calls(bootstrap, plan, records, rounds, bars)
        chats.show(bootstrap, Path(name), plan, 500 if quick else arguments.chats, bars)
    return 1 if arguments.check and bars.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
