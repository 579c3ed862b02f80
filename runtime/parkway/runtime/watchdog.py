"""Ends the process when one of its threads stands still; its supervisor starts another (exit 1).

librdkafka has calls that overrun their time, and some that never return (the one that was seen is made in
bounded_calls.py). Nothing in the process can end such a call: what was not committed is taken again. And a
process whose poll thread stands still keeps its partitions, by librdkafka's own heartbeats, until
`max.poll.interval.ms` is over, and does nothing with them.

Time is counted in looks of one daemon thread, not by the clock: a process that was stopped (SIGSTOP, a frozen
container) and woken up finds no time gone by, and its threads get their turn first.
"""

import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from parkway.runtime.health import STALLED_AFTER
from parkway.runtime.logs import get_logger

_LOOK_EVERY: Final = 1.0

# A thread that polls comes by within a second or two, whatever the broker does; a batch of slow triggers may take
# longer, and waits that have no end beat themselves. Below `max.poll.interval.ms` (300 s).
POLL_STANDSTILL: Final = 120.0


class Watchdog:
    """Watches calls of one thread at a time."""

    def __init__(self) -> None:
        self._watched: tuple[str, float] | None = None  # what, and for how long; replaced whole
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, what: str, seconds: float) -> Iterator[None]:
        """End the process when the body takes longer than `seconds`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="watchdog", daemon=True)
            self._thread.start()
        self._watched = (what, seconds)
        try:
            yield
        finally:
            self._watched = None

    def _look(self) -> None:
        seen: tuple[str, float] | None = None
        waited = 0.0
        while True:
            time.sleep(_LOOK_EVERY)
            watched = self._watched
            waited = waited + _LOOK_EVERY if watched is seen else 0.0
            seen = watched
            if watched is not None and waited > watched[1]:
                _end_process("call_never_returned", call=watched[0])


class Heartbeat:
    """Watches a thread that must come by: `with Heartbeat(...) as heart`, and `heart.beat()` in its loop.

    The thread that enters is the one that is watched, and the one that beats. A beat costs an attribute.
    """

    def __init__(self, seconds: float = POLL_STANDSTILL) -> None:
        self._seconds = seconds
        self._beats = 0
        self._missed = 0.0  # seconds without a beat
        self._ended = threading.Event()
        self._watched = threading.current_thread()

    def beat(self) -> None:
        """Say that this thread is alive. Waits without an end have to call it."""
        self._beats += 1

    def why_stalled(self) -> str | None:
        """For health checks: that this thread has not come by for a while, long before it ends the process."""
        if self._missed < STALLED_AFTER or self._ended.is_set():
            return None
        return f"thread {self._watched.name} has not come by for {self._missed:.0f} s"

    def __enter__(self) -> Self:
        self._watched = threading.current_thread()
        threading.Thread(target=self._look, name=f"heartbeat-{self._watched.name}", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()

    def _look(self) -> None:
        seen = -1
        while not self._ended.wait(min(_LOOK_EVERY, self._seconds / 4)):
            beats = self._beats
            self._missed = self._missed + min(_LOOK_EVERY, self._seconds / 4) if beats == seen else 0.0
            seen = beats
            if self._missed > self._seconds:
                frame = sys._current_frames().get(self._watched.ident or 0)  # noqa: SLF001  documented, for debuggers
                stack = "".join(traceback.format_stack(frame)) if frame is not None else ""
                _end_process("thread_stands_still", thread=self._watched.name, seconds=self._seconds, stack=stack)


def _end_process(event: str, **fields: object) -> None:
    get_logger("watchdog").error(event, consequence="exit 1", **fields)
    sys.stderr.flush()
    os._exit(1)
