"""Runs every benchmark of this folder, one after the other. `--check` exits with 1 when one misses its ratio."""

import subprocess
import sys
from pathlib import Path

NOT_RUN = {"bench_agents.py", "fuzz_triggers.py"}  # the agent; a search for differences, run by hand


def main() -> int:
    here = Path(__file__)
    scripts = sorted(path for path in here.parent.glob("*.py") if path.name not in {here.name, *NOT_RUN})
    missed = []
    for script in scripts:
        print(f"\n=== {script.stem} ===", flush=True)
        if subprocess.run([sys.executable, str(script), *sys.argv[1:]], check=False).returncode:
            missed.append(script.stem)
    if missed:
        print(f"\nmissed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
