"""A worker process: one agent instance, one worker per action, until it is told to stop."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, NoReturn

from parkway.agents import threads
from parkway.agents.agent import Agent
from parkway.runtime.health import Health, Pulse
from parkway.runtime.instance import Instance
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings
from parkway.runtime.tracing import end_tracing
from parkway.runtime.transaction_errors import FatalTransactionError
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan
from parkway.workers.fleet import chosen_actions, make_workers, opened
from parkway.workers.links import KafkaLinks
from parkway.workers.stores import Stores
from parkway.workers.worker import Worker

_LEAVE: Final = 12.0  # seconds to commit and to leave the group after the drain budget, should the broker be away
_LIFESPAN_END: Final = 10.0  # seconds that an agent's lifespan has to close what it opened


async def run_worker(
    settings: Settings, plan: Plan, agent: type[Agent] | Agent, names: Sequence[str], instance: Instance, health: Health
) -> None:
    """Run the chosen actions until SIGTERM or SIGINT; a second signal, and what is fatal, ends the process at once."""
    log = get_logger("worker")
    loop_pulse = Pulse("the event loop", "a handler blocks it; write it as `def`, which runs in a thread")
    health.live("loop", loop_pulse.check)
    health.live("threads", threads.why_starved)
    health.warn("threads_left", threads.left_running)
    beating = asyncio.create_task(_beat(loop_pulse))
    stop = _stop_signals()
    stack = AsyncExitStack()
    stores = Stores(settings, instance.name)
    try:
        one = agent() if isinstance(agent, type) else agent
        await stack.enter_async_context(opened(one))
        links = KafkaLinks(settings, instance.name, health, stores, predecessor_died=instance.predecessor_died)
        making = asyncio.create_task(make_workers(settings, plan, one, names, links, models_first=True))
        stopping = asyncio.create_task(stop.wait())
        # It may wait for Kafka, or for a dead member of its name: longer than whoever stops it does.
        await asyncio.wait([making, stopping], return_when=asyncio.FIRST_COMPLETED)
        workers = making.result() if making.done() else []
        if workers:
            log.info("worker_started", plan=plan.build, actions=[action.name for action in chosen_actions(plan, names)])
            for worker in workers:
                worker.vitals.register(health)
            health.started()
            await _work(workers, stopping, settings, instance, stores)
        else:
            making.cancel()
            log.info("stopped_before_start")
    except BaseException:
        await stack.aclose()
        stores.remove()
        raise
    try:
        async with asyncio.timeout(_LIFESPAN_END):
            await stack.aclose()
    except Exception:
        log.exception("lifespan_end_failed")
    beating.cancel()
    await asyncio.to_thread(end_tracing)
    log.info("worker_stopped")
    stores.remove()
    instance.release()
    _exit(0)  # not by way of the interpreter's end, which waits for sync handlers that still block


async def _work(
    workers: Sequence[Worker], stopping: asyncio.Task[Any], settings: Settings, instance: Instance, stores: Stores
) -> None:
    """Run them until it is time to stop, then drain. Does not return when one of them dies."""
    runs = [asyncio.create_task(worker.run()) for worker in workers]
    await asyncio.wait([*runs, stopping], return_when=asyncio.FIRST_COMPLETED)
    for run in runs:
        if run.done():
            _die(run, instance, stores)
    get_logger("worker").info("draining", at_most_seconds=settings.drain, hint="a second signal stops at once")
    await _drain(workers, settings.drain)
    for run in runs:
        if run.done():
            _die(run, instance, stores)
    for run in runs:
        run.cancel()
    await asyncio.gather(*runs, return_exceptions=True)


async def _drain(workers: Sequence[Worker], seconds: float) -> None:
    """What is not committed by then, because the broker is away, is taken again by somebody."""
    try:
        async with asyncio.timeout(seconds + _LEAVE):
            await asyncio.gather(*(worker.drain(seconds) for worker in workers))
    except TimeoutError:
        get_logger("worker").error("not_drained_in_time", seconds=seconds + _LEAVE, consequence="exit 1")
        _exit(1)


async def _beat(pulse: Pulse) -> None:
    while True:
        pulse.beat()
        await asyncio.sleep(1.0)


def _die(run: asyncio.Task[None], instance: Instance, stores: Stores) -> NoReturn:
    """Exit 1, for a supervisor to start another. At once: threads may wait for a broker that is gone."""
    stores.remove()
    error = run.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ParkwayError):
        sys.stderr.write(f"error: {error}\n")
        instance.release()
        _exit(2)
    get_logger("worker").error("worker_failed", reason=str(error), exc_info=error)
    end_tracing(1.0)
    if isinstance(error, FatalTransactionError) and error.fenced:
        instance.release()  # cleanly: when it is started again it looks for the process that fenced it
    _exit(1)


def _exit(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _stop_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            os._exit(1)  # threads may wait for a broker that is gone
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    return stop
