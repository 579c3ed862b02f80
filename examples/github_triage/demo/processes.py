"""The routers and workers of the demo: processes of their own, as they run in production."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from examples.github_triage.demo.errors import DemoError

ROOT: Final = Path(__file__).parents[3]  # MODULE:AGENT is looked up from here
_LOG_LINES: Final = 15
_STOP_SECONDS: Final = 15.0


def run_parkway(*arguments: str, environment: Mapping[str, str]) -> bytes:
    """Run a `parkway` command to its end and give its output. Raises DemoError with what it said."""
    done = subprocess.run(  # noqa: S603  (our own command)
        _command(arguments), cwd=ROOT, env=_environment(environment), capture_output=True, check=False
    )
    if done.returncode != 0:
        raise DemoError(f"parkway {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


class Process:
    """A `parkway` process that runs until it is told to stop. Its output goes to a log file."""

    def __init__(self, name: str, arguments: tuple[str, ...], environment: Mapping[str, str], logs: Path) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        self._arguments = arguments
        self._environment = _environment({**environment, "PARKWAY_INSTANCE": name})
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; a second time: as an orchestrator restarts a pod, under its old name."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  (our own command)
                _command(self._arguments),
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C is for the demo, which stops the others in order
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def started(self) -> bool:
        return self._process is not None

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, and kill it when that takes longer than `seconds`."""
        assert self._process is not None
        try:
            self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def log_end(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"  {line[:400]}" for line in lines[-_LOG_LINES:])


class Fleet:
    """All routers and workers. Two of each, named `router-1`, `chat-1`, `chat-2` and so on."""

    def __init__(self, processes: Iterable[Process]) -> None:
        self.processes = {process.name: process for process in processes}

    def start(self) -> None:
        for process in self.processes.values():
            process.start()

    def check(self) -> None:
        """Raise DemoError when one has ended by itself."""
        for process in self.processes.values():
            if process.exit_code is not None:
                raise DemoError(
                    f"{process.name} ended by itself with exit code {process.exit_code}. The end of its log:\n"
                    f"{process.log_end()}"
                )

    def stop(self) -> list[str]:
        """SIGTERM to all; SIGKILL to what is left after 15 s. Gives those that did not end with exit code 0."""
        started = [process for process in self.processes.values() if process.started]
        for process in started:
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGTERM)
        give_up = time.monotonic() + _STOP_SECONDS
        for process in started:
            process.wait(give_up - time.monotonic())
        return [f"{each.name} (exit code {each.exit_code})" for each in started if each.exit_code != 0]


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """This process's environment, less settings of Parkway that are meant for other runs."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("PARKWAY_") or name == "PARKWAY_MODEL"
    }
    return {**inherited, **ours}


def _command(arguments: Iterable[str]) -> list[str]:
    return [sys.executable, "-m", "parkway.cli", *arguments]
