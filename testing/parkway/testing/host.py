"""The thread that an agent test runs on: an event loop of its own, whose clock the test moves.

The test's own loop, if it has one, is free meanwhile, and its clock is its own. What a handler shares with the test
(a list that a tool appends to) is used from two threads, but never at once: the agent runs while the test waits.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import structlog

from parkway.testing.clock import Clock, ClockedLoop
from parkway.testing.installation import COMMAND

Answer = TypeVar("Answer")

_JOIN: Final = 10.0


def _calm_logs() -> None:
    """A process that starts says so in many lines; a test that configures no logs wants warnings."""
    if not structlog.is_configured():
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


class Host:
    """Runs one command of the test at a time."""

    def __init__(self, *, stands: bool) -> None:
        _calm_logs()
        self.loop = ClockedLoop(stands=stands)
        self.clock = Clock(self.loop, self.call)
        self._lock = asyncio.Lock()
        self._thread = threading.Thread(target=self._run, name="parkway-agent-test", daemon=True)
        self._thread.start()

    def call(self, command: Coroutine[Any, Any, Answer]) -> Answer:
        """Run a command, and wait for it on the calling thread."""
        return asyncio.run_coroutine_threadsafe(self._alone(command), self.loop).result()

    async def call_async(self, command: Coroutine[Any, Any, Answer]) -> Answer:
        """Run a command, and await it on the caller's loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._alone(command), self.loop))

    def make(self, factory: Callable[[], Answer]) -> Answer:
        """Make something that belongs to the loop."""

        async def make() -> Answer:
            return factory()

        return self.call(make())

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_JOIN)

    async def _alone(self, command: Coroutine[Any, Any, Answer]) -> Answer:
        task = asyncio.current_task()
        assert task is not None
        task.set_name(COMMAND)
        async with self._lock:
            return await command

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()
