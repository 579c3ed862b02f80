"""The processes of `parkway dev`: started again when they die, later and later, or when the code has changed."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from parkway.runtime.settings import Settings

_SESSION_TIMEOUT: Final = "6"
_DRAIN: Final = "5"  # whoever saves a file waits for it
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_STOP_SECONDS: Final = 40.0
WRONG_CALL: Final = 2


class Child:
    """One process. `say(name, line)` gets what it logs; None: it writes to our own standard error."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        settings: Settings,
        http_port: int | None,
        say: Callable[[str, str], None] | None = None,
    ) -> None:
        self.name = name
        self.restarts = 0
        self._command = [sys.executable, "-m", "parkway.cli", *command]
        self._say = say
        self._environment = {
            "PARKWAY_SESSION_TIMEOUT": _SESSION_TIMEOUT,
            "PARKWAY_DRAIN": _DRAIN,
            "PARKWAY_CAPTURE_CONTENT": "true",
            "PARKWAY_LOG_LEVEL": "warning",
            **({"PARKWAY_LOG_FORMAT": "console", "NO_COLOR": "1"} if say is not None else {}),
            **os.environ,
            "PARKWAY_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
            "PARKWAY_NAMESPACE": settings.namespace,
            **{f"PARKWAY_KAFKA_{name.upper().replace('.', '_')}": value for name, value in settings.kafka.items()},
        }
        if http_port is not None:
            self._environment["PARKWAY_HTTP_PORT"] = str(http_port)
        self._pause = _FIRST_PAUSE
        self._start_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def look(self) -> int | None:
        """Start it if it is time to. Returns the exit code when it has just ended."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._start_at:
                self._start()
            return None
        code = self._process.poll()
        if code is None:
            return None
        self._process = None
        self.restarts += 1
        # One that was called wrongly would be so again: it waits for `restart`.
        self._start_at = float("inf") if code == WRONG_CALL else now + self._pause
        self._pause = min(_LONGEST_PAUSE, self._pause * 2)
        return code

    @property
    def starts_in(self) -> float:
        """Seconds; infinite when it waits for a change of the code."""
        return max(0.0, self._start_at - time.monotonic())

    def restart(self) -> None:
        """With the code as it is now. Waits for its end; it is started by the next `look`."""
        self.terminate()
        self.wait()
        self._process = None
        self._start_at = 0.0
        self._pause = _FIRST_PAUSE

    def terminate(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def wait(self) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        # A session of its own: Ctrl-C in the terminal is for us, who stop it in order.
        piped = subprocess.PIPE if self._say is not None else None
        self._process = subprocess.Popen(  # noqa: S603
            self._command,
            env=self._environment,
            start_new_session=True,
            stdout=piped,
            stderr=subprocess.STDOUT if piped else None,
        )
        if self._process.stdout is not None:
            threading.Thread(target=self._read, args=(self._process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert self._say is not None
        for line in process.stdout:
            self._say(self.name, line.decode("utf-8", "replace").rstrip())
