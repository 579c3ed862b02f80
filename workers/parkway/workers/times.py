"""The clocks that decisions are made by: the wall clock as records carry it, and the one that durations are taken from.

Everything that a worker or an action decides by the time asks here. So a test can move the time: a loop that stands in
`MOVED` has a clock of its own, which holds on that loop. Else these are the plain calls, and cost no more.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Final, Protocol


class Clock(Protocol):
    """Another time than the machine's."""

    def now_ms(self) -> int: ...

    def monotonic(self) -> float: ...


MOVED: Final[dict[asyncio.AbstractEventLoop, Clock]] = {}  # the loops of tests; empty in every other process

_LATEST_MS: Final = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp() * 1000)


def now_ms() -> int:
    """Milliseconds since 1970 (UTC)."""
    if MOVED and (clock := _moved()) is not None:
        return clock.now_ms()
    return time.time_ns() // 1_000_000


def as_datetime(milliseconds: int) -> datetime:
    """Milliseconds since 1970 as a time in UTC; what lies beyond the calendar's end, which a header may say, is it."""
    return datetime.fromtimestamp(min(milliseconds, _LATEST_MS) / 1000, UTC)


def now() -> float:
    """Seconds since 1970 (UTC)."""
    if MOVED and (clock := _moved()) is not None:
        return clock.now_ms() / 1000
    return time.time()


def monotonic() -> float:
    """Seconds of a clock that is never set: for how long something takes or waits."""
    if MOVED and (clock := _moved()) is not None:
        return clock.monotonic()
    return time.monotonic()


def _moved() -> Clock | None:
    try:
        return MOVED.get(asyncio.get_running_loop())
    except RuntimeError:  # a thread without a loop
        return None
