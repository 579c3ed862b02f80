"""A measured process: its CPU time over time, and its peak memory."""

import os
import subprocess
import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from parkway.runtime.settings import Settings

_TICK = os.sysconf("SC_CLK_TCK")
_SAMPLE_SECONDS = 0.05


class Measured:
    """Runs a command until the block ends. Times are wall-clock seconds since 1970, as the broker's timestamps are."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen([str(part) for part in command], env={**os.environ, **environment})
        self._samples: list[tuple[float, float]] = []
        self._peak = 0.0
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._sampler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._sampler.join()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def peak_megabytes(self) -> float:
        """The largest resident size so far."""
        return self._peak

    def cpu_now(self) -> float:
        """Seconds of CPU since the start, all threads."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def cpu_at(self, when: float) -> float:
        """Seconds of CPU up to then, between samples on a straight line."""
        right = min(bisect_left(self._samples, (when, 0.0)), len(self._samples) - 1)
        (t0, c0), (t1, c1) = self._samples[max(0, right - 1)], self._samples[right]
        return c1 if t1 <= t0 or when >= t1 else c0 + (c1 - c0) * max(0.0, when - t0) / (t1 - t0)

    def _sample(self) -> None:
        status = Path(f"/proc/{self._process.pid}/status")
        while not self._ended.is_set() and self.running:
            try:
                self._samples.append((time.time(), self.cpu_now()))
                line = next(row for row in status.read_text(encoding="utf-8").splitlines() if row.startswith("VmHWM"))
            except (FileNotFoundError, StopIteration, ProcessLookupError):  # it has just ended
                return
            self._peak = int(line.split()[1]) / 1024
            self._ended.wait(_SAMPLE_SECONDS)


def parkway_environment(settings: Settings, **more: str) -> dict[str, str]:
    return {
        "PARKWAY_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
        "PARKWAY_NAMESPACE": settings.namespace,
        "PARKWAY_LOG_LEVEL": "error",
        **more,
    }
