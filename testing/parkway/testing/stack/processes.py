"""The routers and workers of a stack: processes of their own, as in production."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_STOP_SECONDS: Final = 30.0
_LOG_LINES: Final = 25
_RESTARTS: Final = 5


class Process:
    """A `parkway` command that runs until it is stopped. It logs to a file."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = [sys.executable, "-m", "parkway.cli", *command, "--instance", name]
        # The agent is imported as the test imports it, whatever has changed its path.
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self.restarts = 0

    def start(self) -> None:
        """Start it; a second time: as an orchestrator would, under its old name."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  # our own command
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return None if self._process is None else self._process.poll()

    def supervise(self) -> bool:
        """Start it again if it has failed; False when that is of no use: it is called wrongly, or fails over and over.

        docs/operations.md says what the exit codes mean.
        """
        if self.exit_code is None:
            return True
        if self.exit_code in {0, 2} or self.restarts == _RESTARTS:
            return False
        self.restarts += 1
        self.start()
        return True

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def terminate(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self, until: float) -> None:
        """Wait until it has ended, and kill it at `until` (in `time.monotonic()` seconds)."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()

    def log_end(self) -> str:
        lines = self.log.read_text("utf-8", "replace").splitlines() if self.log.exists() else []
        return f"the end of the log of {self.name} ({self.log}):\n" + "\n".join(lines[-_LOG_LINES:])


def stop(processes: Sequence[Process]) -> None:
    """SIGTERM to all; SIGKILL to what is left after 30 s."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + _STOP_SECONDS
    for process in processes:
        process.wait(until)
