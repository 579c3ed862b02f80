"""An event loop whose clock a test moves.

In memory the clock stands: it moves when a test advances it, when a run moves it to the next timer, and as fast as the
machine's while something outside of the loop is waited for (a thread, a socket). On a real Kafka it goes with the
machine's, and a test can move it ahead. Deadlines, back-offs and sweeps go by this clock (`workers/times.py`), and so
do `asyncio.sleep` and `asyncio.timeout`; `time.time()` and `datetime.now()` of the user's own code do not.
"""

import asyncio
import selectors
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, TypeVarTuple

from parkway.workers.times import MOVED

Arguments = TypeVarTuple("Arguments")
Answer = TypeVar("Answer")

_REAL_STEP: Final = 0.02  # seconds that are waited for threads and sockets at a time
_MOST_STEPS: Final = 2_000  # of one move of the clock: timers that lie closer together fire together


class ClockedLoop(asyncio.SelectorEventLoop):
    """`stands`: time does not go by itself. Everything here but `time` is called on the loop."""

    def __init__(self, *, stands: bool) -> None:
        self._stands_at = time.monotonic() if stands else None
        self._began_ms = time.time_ns() // 1_000_000
        self._began = time.monotonic()
        self._moved = 0.0  # seconds
        self._idle: asyncio.Future[None] | None = None
        self.between: Callable[[], Awaitable[bool]] | None = None  # two moves; True: it has done something
        self._in_threads = 0
        self._selecting = _Selector(self)
        super().__init__(self._selecting)
        MOVED[self] = self

    def close(self) -> None:
        MOVED.pop(self, None)
        super().close()

    # -- the clock

    def time(self) -> float:
        return (self._stands_at if self._stands_at is not None else time.monotonic()) + self._moved

    def monotonic(self) -> float:
        return self.time()

    def now_ms(self) -> int:
        """Milliseconds since 1970 (UTC)."""
        return self._began_ms + round((self.time() - self._began) * 1000)

    @property
    def stands(self) -> bool:
        return self._stands_at is not None

    async def idle(self) -> None:
        """Return when nothing is left to do at this moment: all tasks wait for a timer, a thread or a socket."""
        assert self._stands_at is not None, "a loop whose time goes is never known to be idle"
        self._idle = self.create_future()
        await self._idle

    def waits_outside(self) -> bool:
        """Is a thread or a socket waited for?"""
        return self._in_threads > 0 or self._selecting.has_sockets

    async def pass_time(self) -> None:
        """Let a little time pass as it really does, for what is waited for outside of the loop."""
        self._selecting.real = True
        try:
            await asyncio.sleep(_REAL_STEP)
        finally:
            self._selecting.real = False

    def next_timer(self) -> float | None:
        """When the next timer fires, on this clock; None: there is none."""
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        return min((one.when() for one in timers if not one.cancelled()), default=None)

    def move_to(self, moment: float) -> None:
        """Timers up to then fire next."""
        self._moved += max(0.0, moment - self.time())

    async def advance(self, seconds: float) -> None:
        """Move the clock, from timer to timer, so that each finds the time that it waited for."""
        if not self.stands:
            self._moved += seconds
            self.call_soon(_nothing)  # timers are looked at anew
            return
        target = self.time() + seconds
        step = seconds / _MOST_STEPS
        while True:
            await self.idle()
            if self.between is not None and await self.between():
                continue
            timer = self.next_timer()
            if timer is None or timer > target:
                break
            self.move_to(min(target, max(timer, self.time() + step)))
        self.move_to(target)
        await self.idle()

    # -- what it watches

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Arguments], Answer], *args: *Arguments
    ) -> asyncio.Future[Answer]:
        future = super().run_in_executor(executor, func, *args)
        if not future.done():
            self._in_threads += 1
            future.add_done_callback(self._left_thread)
        return future

    def _left_thread(self, _future: object) -> None:
        self._in_threads -= 1

    def nothing_ready(self) -> bool:
        """Called by the selector when nothing is ready: True when that was waited for."""
        waiter, self._idle = self._idle, None
        if waiter is None:
            return False
        if not waiter.done():
            waiter.set_result(None)
        return True

    def passed(self, seconds: float) -> None:
        """Called by the selector: so much real time went by, which counts."""
        self._moved += seconds


class _Selector(selectors.BaseSelector):
    """Instead of waiting for a timer it says that the loop is idle; time does not pass here."""

    def __init__(self, loop: ClockedLoop) -> None:
        self._loop = loop
        self._inner = selectors.DefaultSelector()
        self.real = False  # time passes as it does

    @property
    def has_sockets(self) -> bool:
        return len(self._inner.get_map()) > 1  # the first one is what wakes the loop from other threads

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if not self._loop.stands:
            return self._inner.select(timeout)
        ready = self._inner.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.real:
            began = time.monotonic()
            ready = self._inner.select(min(timeout, _REAL_STEP) if timeout is not None else _REAL_STEP)
            self._loop.passed(time.monotonic() - began)
            return ready
        if self._loop.nothing_ready():
            return []
        return self._inner.select(None)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def get_map(self) -> Any:
        return self._inner.get_map()

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.get_key(fileobj)

    def close(self) -> None:
        self._inner.close()


class Clock:
    """The clock of a test. `advance` returns when what it made due has been done."""

    def __init__(self, loop: ClockedLoop, call: Callable[[Any], Any]) -> None:
        self._loop = loop
        self._call = call

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970 (UTC), as in `parkway-deadline`."""
        return self._loop.now_ms()

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, milliseconds: float = 0
    ) -> None:
        """Let this time pass: deadlines, back-offs, sweeps and sleeps that end in it do so. Nothing is slept."""
        total = days * 86_400 + hours * 3_600 + minutes * 60 + seconds + milliseconds / 1_000
        if total <= 0:
            raise ValueError(f"clock.advance({total:g} s): a clock goes ahead only")
        self._call(self._loop.advance(total))


def _nothing() -> None:
    """A callback that only makes the loop look again."""
