"""Runs one command and kills it when the process that asked for it is gone, however that one ended.

A script of the standard library alone, run as `python watchdog.py STARTER COMMAND...`. It writes the
command's process id to its stdout, sends the command's output to its own stderr, and ends as the
command does. Linux alone could do without it by PR_SET_PDEATHSIG, but that fires at the end of the
*thread* that started the command.
"""

import os
import subprocess
import sys

CHECK_SECONDS = 0.2


def main() -> int:
    starter, *command = sys.argv[1:]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)  # noqa: S603  # our own
    print(child.pid, flush=True)  # noqa: T201  # read by the starter
    while True:
        try:
            code = child.wait(timeout=CHECK_SECONDS)
        except subprocess.TimeoutExpired:
            if os.getppid() != int(starter):
                child.kill()
        else:
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
