"""Runs every benchmark of this folder, one after the other.

`--check` exits with 1 when one misses a bar; `--quick` makes smoke runs of those on Kafka, without other frameworks.
"""

import subprocess
import sys
from pathlib import Path

SCRIPTS = ("schemas", "triggers", "router", "worker", "restore", "client")
WITH_QUICK = {"router", "worker", "restore", "client"}  # the others take seconds


def main() -> int:
    missed = []
    for script in SCRIPTS:
        print(f"\n=== {script} ===", flush=True)
        options = [option for option in sys.argv[1:] if option != "--quick" or script in WITH_QUICK]
        command = [sys.executable, str(Path(__file__).with_name(f"{script}.py")), *options]
        if subprocess.run(command, check=False).returncode:
            missed.append(script)
    if missed:
        print(f"\nmissed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
