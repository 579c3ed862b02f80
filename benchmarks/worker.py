"""Workers on one real Kafka: a no-op action beside other frameworks, slow calls, and chats over the whole pipeline.

    python benchmarks/worker.py             # everything
    python benchmarks/worker.py --check     # exit 1 when a bar is missed
    python benchmarks/worker.py --quick     # a minute, without the frameworks
    python benchmarks/worker.py --only slow --slow-seconds 30

A no-op, and an action that sends one output, are measured against FastStream's acknowledging subscriber and a bare
aiokafka gather loop, each in an environment of its own. A call is `asyncio.sleep`. One in every 100 is slow: 1 s, or
`--slow-seconds 30`, which takes some minutes a round.
"""

import argparse
import sys
import tempfile
from math import ceil
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
CONCURRENT = 200
PARTS = ("nothing", "echo", "calls", "slow", "chats")
SLOW_EVERY = 100
SLOW_RATE = 10_000  # records a second, about: what the set-up of slow calls reckons with


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


def slow_calls(bootstrap: str, plan: Plan, records: int, rounds: int, seconds: float, bars: Bars) -> None:
    """The rate of the calls that are not slow, with one slow one in every 100 and without.

    A worker has some 17,000 offsets of a partition in hand at most, and all that arrive while a call takes `seconds`
    wait for it to be forgotten: so many partitions and one more, that many slots more, and records for two lengths of a
    slow call, or for ten seconds or so: shorter runs tell little.
    """
    partitions = 1 + ceil(SLOW_RATE * seconds / 10_000)
    concurrency = 1_000 + ceil(SLOW_RATE / SLOW_EVERY * seconds)
    records = max(4 * records, ceil(2.5 * SLOW_RATE * seconds)) // partitions * partitions
    others = partitions * sum(offset % SLOW_EVERY != 0 for offset in range(records // partitions))
    found: dict[bool, list[Run]] = {False: [], True: []}
    for number in range(rounds):
        for slow in (False, True):
            settings = settings_of(bootstrap, f"slow{number}-{slow}".lower(), plan, partitions)
            long = seconds if slow else CALL_SECONDS
            each = (CALL_SECONDS if one // partitions % SLOW_EVERY else long for one in range(records))
            fill_action(settings, "call", ({"seconds": one} for one in each), partitions)
            options = ("--concurrency", str(concurrency))
            found[slow].append(work(settings, "call", others, *options, partitions=partitions, but_every=SLOW_EVERY))
    print(
        f"\none call of {seconds:g} s in every {SLOW_EVERY}, the others {CALL_SECONDS * 1000:.0f} ms, "
        f"{concurrency:,} at once, {records:,} in {partitions} partition(s)"
    )
    for slow, runs in found.items():
        rate, peak = median(run.rate for run in runs), max(run.peak for run in runs)
        cpu = median(run.cpu for run in runs)
        print(f"  {'with slow ones' if slow else 'without'}: {rate:,.0f}/s of the others, {cpu:.0f} us, {peak:.0f} MB")
    ratios = [one.rate / two.rate for one, two in zip(found[True], found[False], strict=True)]
    bars.at_least("rate of the others, with slow ones / without", ratios, 0.95)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--chats", type=int, default=2_000)
    parser.add_argument("--only", choices=PARTS, help="one of the measurements")
    parser.add_argument("--slow-seconds", type=float, default=1.0, help="what one call in every 100 takes")
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
        for part in [arguments.only] if arguments.only else PARTS:
            if part == "calls":
                calls(bootstrap, plan, records, rounds, bars)
            elif part == "slow":
                slow_calls(bootstrap, plan, records, rounds, arguments.slow_seconds, bars)
            elif part == "chats":
                chats.show(bootstrap, Path(name), plan, 500 if quick else arguments.chats, bars)
            else:
                side_by_side(bootstrap, plan, part, records, rounds, [] if quick else [FASTSTREAM, GATHER], bars)
    return 1 if arguments.check and bars.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
