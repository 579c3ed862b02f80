"""Differential fuzzing of triggers against the C++ runtime of CEL and cel-python.

    python benchmarks/fuzz_triggers.py --cases 200000

Every case is made by its number, so `--first N --cases 1` repeats case N. Prints the differences that the
table of `tests/unit/cel/differential/differences.py` explains, by reason, and every other one in full. Exit 1
if there is such a one.
"""

import argparse
import collections
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit" / "cel"))

from differential.compare import ORACLES, compare
from differential.generator import case


def main() -> int:
    parser = argparse.ArgumentParser(description="Differential fuzzing of triggers.")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--oracle", choices=ORACLES, action="append", help="default: all")
    arguments = parser.parse_args()
    _silence_re2()
    unexplained = 0
    for oracle in arguments.oracle or ORACLES:
        unexplained += _fuzz(oracle, range(arguments.first, arguments.first + arguments.cases))
    return 1 if unexplained else 0


def _fuzz(oracle: str, numbers: range) -> int:
    started = time.monotonic()
    reasons: collections.Counter[str] = collections.Counter()
    unexplained = 0
    for number in numbers:
        found = compare(oracle, *case(random.Random(number)))
        if found is None:
            continue
        different, difference = found
        if difference is not None:
            reasons[difference.reason] += 1
            continue
        unexplained += 1
        print(f"case {number}: {different.ours!r}")
        print(f"  parkway     {different.our_outcome}  {different.we_said}")
        print(f"  {oracle:10}  {different.their_outcome}  {different.they_said}")
        print(f"  event       {different.event['attributes']}")
    explained = sum(reasons.values())
    print(
        f"{oracle}: {len(numbers):,} cases, {len(numbers) - explained - unexplained:,} alike, {explained:,} differ as "
        f"the table says, {unexplained:,} unexplained ({time.monotonic() - started:.0f} s)"
    )
    for reason, count in reasons.most_common():
        print(f"  {count:7,}  {reason}")
    return unexplained


def _silence_re2() -> None:
    """The C++ runtime logs every bad regex to standard error, past Python."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


if __name__ == "__main__":
    sys.exit(main())
