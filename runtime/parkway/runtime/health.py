"""Is this process alive, and may it be relied on? Components register named checks; http.py serves them.

A check says None while all is well, else why not. Alive (`/healthz`): its threads and its event loop go round; a
process that is not is worth a restart. Ready (`/readyz`): it does, or could do, its work. A warning is shown and
changes neither. What a restart would not mend, such as a broker that is away, is no reason to be dead.

Checks are called on the HTTP server's threads: they read, and wait for nothing.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

Check = Callable[[], str | None]

STALLED_AFTER: Final = 30.0  # seconds without going round, after which a thread counts as dead


class Kind(StrEnum):
    LIVE = "live"
    READY = "ready"
    WARNING = "warning"


@dataclass(slots=True)
class _Known:
    """A check, and since when it says what it says (seconds since 1970)."""

    kind: Kind
    check: Check
    since: float
    passed: bool | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What one look at all checks of a kind gave. `body` is JSON."""

    ok: bool
    body: dict[str, Any]


class Health:
    """The checks of one process. Any thread may register and look.

    `since` of a check is when it was first seen as it is: as exact as somebody looks.
    """

    def __init__(self) -> None:
        self._checks: dict[str, _Known] = {}
        self._lock = threading.Lock()
        self._started = False
        self.ready("started", lambda: None if self._started else "it is starting: not all components are there yet")

    def started(self) -> None:
        """Everything has registered its checks. Until then the process is not ready."""
        self._started = True

    def live(self, name: str, check: Check) -> None:
        """While `check` gives a reason, the process is dead."""
        self._register(name, Kind.LIVE, check)

    def ready(self, name: str, check: Check) -> None:
        """While `check` gives a reason, the process is not ready."""
        self._register(name, Kind.READY, check)

    def warn(self, name: str, check: Check) -> None:
        """What `check` gives is shown in both answers, and changes neither."""
        self._register(name, Kind.WARNING, check)

    def report(self, kind: Kind) -> Report:
        """Run the checks of this kind, and the warnings."""
        with self._lock:
            checks = {name: self._look(known) for name, known in self._of(kind)}
            warnings = {
                name: {"text": reason, "since": _utc(known.since)}
                for name, known in self._of(Kind.WARNING)
                if (reason := _ask(known)) is not None
            }
        ok = all(found["ok"] for found in checks.values())
        body: dict[str, Any] = {"status": "ok" if ok else "failing", "checks": checks}
        if warnings:
            body["warnings"] = warnings
        return Report(ok, body)

    def _register(self, name: str, kind: Kind, check: Check) -> None:
        with self._lock:
            self._checks[name] = _Known(kind, check, time.time())

    def _of(self, kind: Kind) -> list[tuple[str, _Known]]:
        return [(name, known) for name, known in sorted(self._checks.items()) if known.kind is kind]

    @staticmethod
    def _look(known: _Known) -> dict[str, Any]:
        reason = _ask(known)
        found: dict[str, Any] = {"ok": reason is None, "since": _utc(known.since)}
        if reason is not None:
            found["reason"] = reason
        return found


def _ask(known: _Known) -> str | None:
    try:
        reason = known.check()
    except Exception as error:
        reason = f"the check itself raised {type(error).__name__}"
    passed = reason is None
    if known.passed is not None and passed is not known.passed:
        known.since = time.time()
    known.passed = passed
    return reason


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


class Pulse:
    """Shows that the event loop goes round, from its first beat on. (Of threads: `watchdog.Heartbeat`.)

    One thread beats; any may check.
    """

    def __init__(self, what: str, hint: str = "", limit: float = STALLED_AFTER) -> None:
        self._what = what
        self._hint = f": {hint}" if hint else ""
        self._limit = limit
        self._last = float("inf")  # it has not begun

    def beat(self) -> None:
        self._last = time.monotonic()

    def check(self) -> str | None:
        """Why it counts as dead, or None."""
        still = time.monotonic() - self._last
        if still < self._limit:
            return None
        return f"{self._what} has not moved for {still:.0f} s{self._hint}"
