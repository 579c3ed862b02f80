"""A worker process: one agent instance, one worker per action, until it is told to stop."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final, NoReturn

from confluent_kafka.admin import AdminClient

from parkway.agents import threads
from parkway.agents.agent import Agent, Definition, definition_of, running
from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.resource import Resource
from parkway.agents.sink import Sinks
from parkway.runtime.clients import admin_client, group_consumer, manual_consumer
from parkway.runtime.codec import event_codec
from parkway.runtime.health import Health, Pulse
from parkway.runtime.instance import Instance
from parkway.runtime.logs import get_logger
from parkway.runtime.membership import wait_for_dead_members
from parkway.runtime.recovery import RecoveringProducer
from parkway.runtime.settings import Settings
from parkway.runtime.topology import offset_metadata_limit, partition_count, topic_ids
from parkway.runtime.tracing import end_tracing
from parkway.runtime.transactions import FatalTransactionError
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import ActionPlan, Plan
from parkway.workers.actions.factory import limiters_of, make_action, retry_of
from parkway.workers.committer import Committer
from parkway.workers.completion import largest_span
from parkway.workers.consumers import GroupConsumer, ResumeConsumer
from parkway.workers.entry_store import MemoryEntries
from parkway.workers.governor import Governor
from parkway.workers.journal import Journal
from parkway.workers.restore import Restorer
from parkway.workers.results import ResultBuilder
from parkway.workers.sinks import open_sinks
from parkway.workers.slots import Slots
from parkway.workers.stores import Stores
from parkway.workers.worker import Worker

_LEAVE: Final = 12.0  # seconds to commit and to leave the group after the drain budget, should the broker be away
_LIFESPAN_END: Final = 10.0  # seconds that an agent's lifespan has to close what it opened


def chosen_actions(plan: Plan, names: Sequence[str]) -> list[ActionPlan]:
    """The plan's actions with these names; all of them when none is given. Raises AgentError."""
    for name in names:
        if plan.action(name) is None:
            known = [action.name for action in plan.actions]
            hint = did_you_mean(name, known) or f"; its actions: {', '.join(known)}"
            raise AgentError(f"{plan.agent} has no action {name!r}{hint}")
    return [action for action in plan.actions if not names or action.name in names]


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
    definition = definition_of(agent)
    stack = AsyncExitStack()
    stores = Stores(settings, instance.name)
    try:
        one = agent() if isinstance(agent, type) else agent
        for resource in definition.resources.values():
            stack.push_async_callback(_close, resource)
        await stack.enter_async_context(running(one))
        admin = admin_client(settings, f"{settings.namespace}.worker.{instance.name}")
        sinks = await asyncio.to_thread(open_sinks, settings, definition)
        slots = Slots(settings.process_concurrency)
        governor = Governor(threads.running, settings.process_concurrency)
        workers = [
            await _make_worker(
                settings, plan, action, one, definition, instance, admin, health, slots, governor, stores, sinks
            )
            for action in chosen_actions(plan, names)
        ]
        log.info("worker_started", plan=plan.build, actions=[action.name for action in chosen_actions(plan, names)])
        for worker in workers:
            worker.vitals.register(health)
        health.started()
        runs = [asyncio.create_task(worker.run()) for worker in workers]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([*runs, stopping], return_when=asyncio.FIRST_COMPLETED)
        for run in runs:
            if run.done():
                _die(run, instance, stores)
        log.info("draining", at_most_seconds=settings.drain, hint="a second signal stops at once")
        await _drain(workers, settings.drain)
        for run in runs:
            if run.done():
                _die(run, instance, stores)
        for run in runs:
            run.cancel()
        await asyncio.wait(runs)
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


async def _close(resource: Resource) -> None:
    try:
        await resource.close()
    except Exception:  # the others are closed all the same
        get_logger("worker").exception("resource_end_failed", resource=repr(resource))


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


async def _make_worker(
    settings: Settings,
    plan: Plan,
    planned: ActionPlan,
    agent: Agent,
    definition: Definition,
    instance: Instance,
    admin: AdminClient,
    health: Health,
    slots: Slots,
    governor: Governor,
    stores: Stores,
    sinks: Sinks,
) -> Worker:
    limiters = limiters_of(planned, definition)
    action = make_action(settings, planned, agent, limiters, sinks)
    spec = definition.action(planned.name)
    options = spec.options if spec is not None else None
    topics = settings.topics
    group = topics.worker_group(planned.name)
    client_id = f"{settings.namespace}.worker.{planned.name}.{instance.name}"
    if instance.predecessor_died:
        get_logger("worker").info(
            "predecessor_died", action=planned.name, its_partitions_come_within_seconds=settings.session_timeout
        )
    else:
        await asyncio.to_thread(wait_for_dead_members, admin, group, client_id, settings.session_timeout)
    action_topic, resume_topic = topics.action(planned.name), topics.resume(planned.name)
    ids = await asyncio.to_thread(topic_ids, admin, [action_topic, *([resume_topic] if planned.parks else [])])
    metadata_limit = await asyncio.to_thread(offset_metadata_limit, admin)
    codec = event_codec(settings)
    builder = ResultBuilder(settings, plan, action, codec, Journal.of(settings, plan, planned, agent))
    worker = Worker(
        settings,
        planned,
        action,
        builder,
        codec,
        Restorer(
            settings,
            admin,
            topic_ids=ids,
            planned=planned,
            make_store=stores.of_action(planned.name) if planned.parks else MemoryEntries,
        ),
        order=options.order if options is not None else "unordered",
        concurrency=(options.concurrency if options is not None else None) or settings.concurrency,
        retry=retry_of(planned, definition),
        slots=slots,
        governor=governor,
        limiters=list(limiters.values()),
        partitions=await asyncio.to_thread(partition_count, admin, action_topic),
        largest_span=largest_span(metadata_limit),
        admin=admin,
    )
    producer = RecoveringProducer(settings, f"{client_id}.0", group, instance.name)
    committer = Committer(
        planned.name,
        producer,
        topics.parked,
        topics.state,
        builder,
        worker.committed,
        worker.fenced,
        largest_bytes=settings.buffer_bytes,
    )
    await committer.open()
    loop = asyncio.get_running_loop()
    # Positions are always explicit here; one that the log cannot serve must be seen, not mended (restore.py).
    consumer = group_consumer(settings, client_id, group, **{"auto.offset.reset": "error"})
    group_thread = GroupConsumer(f"{planned.name}-group", consumer, action_topic, loop, worker)
    resume_thread = None
    if planned.parks:
        resume_consumer = manual_consumer(settings, f"{client_id}.resume", **{"auto.offset.reset": "error"})
        resume_thread = ResumeConsumer(f"{planned.name}-resume", resume_consumer, resume_topic, loop, worker)
    for thread in (group_thread, resume_thread):
        if thread is not None:
            thread.register(health)
    worker.connect(committer, group_thread, resume_thread)
    return worker
