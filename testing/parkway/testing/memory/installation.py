"""An installation in memory: a process with the real router and workers, over a log that outlives it.

One event loop, no threads but those of sync handlers; what a test sends while something runs comes at any moment of it.
The process may die at a commit (lives.py); then all that it held in memory is gone; another one begins from the log.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from parkway.router.routing import Routing
from parkway.runtime.codec import event_codec
from parkway.runtime.records import Record
from parkway.testing.clock import ClockedLoop
from parkway.testing.errors import NotQuietError
from parkway.testing.installation import COMMAND
from parkway.testing.log_record import LogRecord
from parkway.testing.memory.links import MemoryLinks
from parkway.testing.memory.lives import Death, DiedError, Lives
from parkway.testing.memory.log import MemoryLog
from parkway.testing.memory.router import MemoryRouter
from parkway.testing.setup import Setup
from parkway.workers.fleet import make_workers, opened
from parkway.workers.worker import Worker


class MemoryInstallation:
    """An `installation.Installation`. `death`: where its process dies, once."""

    def __init__(self, setup: Setup, loop: ClockedLoop, death: Death | None = None) -> None:
        self._setup = setup
        self._loop = loop
        self.lives = Lives(death, self._kill)
        self._log = MemoryLog(setup.partitions, loop.now_ms)
        self._log.create(setup.topics())
        self._workers: list[Worker] = []
        self._router: MemoryRouter | None = None
        self._process: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()

    async def start(self) -> None:
        self._loop.between = self._died
        await self._begin()

    async def stop(self) -> None:
        process = self._process
        self._loop.between = None
        if process is None:
            return
        if not process.done():
            self._leave.set()
            await asyncio.wait([process])
        await self._end(process)

    async def send(self, records: Sequence[Record]) -> None:
        self._log.write(records)

    async def read(self) -> list[LogRecord]:
        return self._log.of_topics(spec.name for spec in self._setup.topics())

    async def run(self, at_most: float, patience: float) -> None:
        loop, give_up = self._loop, time.monotonic() + patience
        limit = loop.time() + at_most
        while True:
            await loop.idle()
            if await self._died():
                continue
            if all(worker.is_quiet for worker in self._workers):
                return
            if time.monotonic() > give_up:
                raise NotQuietError(f"not quiet within {patience:g} s: {self._in_flight()}")
            if loop.waits_outside():
                await loop.pass_time()
                continue
            timer = loop.next_timer()
            if timer is None or timer > limit:
                raise NotQuietError(
                    f"not quiet within {at_most:g} s of the test's clock: {self._in_flight()}. It may wait for "
                    "something that never comes; if it only takes longer: test.run(at_most=...)"
                )
            loop.move_to(timer)

    # -- lives

    async def _begin(self) -> None:
        self.lives.begin()
        self._log.forget_watchers()
        ready = self._loop.create_future()
        self._process = asyncio.create_task(self._live(ready))
        await asyncio.wait([self._process, ready], return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            self._process.result()

    async def _live(self, ready: asyncio.Future[None]) -> None:
        setup = self._setup
        agent = setup.instance()
        async with opened(agent):
            codec = event_codec(setup.settings)
            routing = Routing(setup.plan, setup.settings.topics, codec, setup.partitions)
            failed: asyncio.Future[None] = self._loop.create_future()
            self._workers = await make_workers(
                setup.settings, setup.plan, agent, setup.actions, MemoryLinks(setup.settings, self._log, self.lives)
            )
            group = setup.settings.topics.router_group
            self._router = MemoryRouter(routing, group, self._log, self.lives, failed.set_exception)
            runs: list[asyncio.Future[None]] = [asyncio.create_task(worker.run()) for worker in self._workers]
            self._router.start()
            ready.set_result(None)
            leaving: asyncio.Future[Any] = asyncio.create_task(self._leave.wait())
            try:
                ends = [failed, leaving, *runs]
                done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for ended in done:
                    ended.result()
            finally:
                self._kill()
                for run in runs:
                    run.cancel()
                # Retrieved, or asyncio would tell the user of deaths that are meant: by `wait` only the first was.
                await asyncio.gather(*runs, return_exceptions=True)

    def _kill(self) -> None:
        """Nothing of this process goes on: what is in its memory is gone."""
        if self._router is not None:
            self._router.end()
        for worker in self._workers:
            worker.fenced()

    async def _died(self) -> bool:
        """Another process begins, if the one before is dead. Raises what else has ended it."""
        process = self._process
        assert process is not None
        if not process.done() and not self.lives.dead:
            return False
        if not self.lives.dead:
            raise _reason(process.exception()) or AssertionError("the workers have ended")
        await self._end(process)
        for model in self._setup.scripted:
            model.process_died()
        await self._begin()
        return True

    async def _end(self, process: asyncio.Task[None]) -> None:
        """Cancel all that the process has started, user code's own tasks too."""
        self._kill()
        mine = [task for task in asyncio.all_tasks() if task.get_name() != COMMAND]
        for task in mine:
            task.cancel()
        if mine:
            await asyncio.wait(mine)
        if process.done() and not process.cancelled():
            error = _reason(process.exception())
            if error is not None and not isinstance(error, DiedError):
                raise error

    def _in_flight(self) -> str:
        return "; ".join(filter(None, (worker.in_flight() for worker in self._workers))) or "nothing that is known"


def _reason(error: BaseException | None) -> BaseException | None:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
