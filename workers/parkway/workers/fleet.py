"""The workers of one process: one for each of the chosen actions of an agent instance."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from parkway.agents import threads
from parkway.agents.agent import Agent, definition_of, running
from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.resource import Resource
from parkway.agents.sink import Sinks
from parkway.runtime.codec import event_codec
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings
from parkway.schemas.plan import ActionPlan, Plan
from parkway.workers.actions.factory import limiters_of, make_action, retry_of
from parkway.workers.actions.mcp_tools import close_all
from parkway.workers.actions.opening import open_models
from parkway.workers.committer import Committer
from parkway.workers.completion import largest_span
from parkway.workers.effects import Action
from parkway.workers.governor import Governor
from parkway.workers.journal import Journal
from parkway.workers.limiter import Limiter
from parkway.workers.links import Links
from parkway.workers.results import ResultBuilder
from parkway.workers.sinks import open_sinks
from parkway.workers.slots import Slots
from parkway.workers.worker import Worker


def chosen_actions(plan: Plan, names: Sequence[str]) -> list[ActionPlan]:
    """The plan's actions with these names; all of them when none is given. Raises AgentError."""
    for name in names:
        if plan.action(name) is None:
            known = [action.name for action in plan.actions]
            hint = did_you_mean(name, known) or f"; its actions: {', '.join(known)}"
            raise AgentError(f"{plan.agent} has no action {name!r}{hint}")
    return [action for action in plan.actions if not names or action.name in names]


@asynccontextmanager
async def opened(agent: Agent) -> AsyncIterator[None]:
    """The agent's lifespan; after it its resources are closed, in the order of the class backwards."""
    async with AsyncExitStack() as stack:
        for resource in definition_of(agent).resources.values():
            stack.push_async_callback(_close, resource)
        stack.push_async_callback(close_all)
        await stack.enter_async_context(running(agent))
        yield


async def _close(resource: Resource) -> None:
    try:
        await resource.close()
    except Exception:  # the others are closed all the same
        get_logger("worker").exception("resource_end_failed", resource=repr(resource))


async def make_workers(
    settings: Settings, plan: Plan, agent: Agent, names: Sequence[str], links: Links, *, models_first: bool = False
) -> list[Worker]:
    """Make the workers of the chosen actions, ready to run. They share what is the process's.

    `models_first`: open the models before anything in Kafka is touched, not each at its first request. Raises
    AgentError for one that cannot be opened.
    """
    sinks = await asyncio.to_thread(open_sinks, settings, definition_of(agent))
    made = [_make(settings, planned, agent, sinks) for planned in chosen_actions(plan, names)]
    for one in made if models_first else ():
        await open_models(one.action)
    slots = Slots(settings.process_concurrency)
    governor = Governor(threads.running, settings.process_concurrency)
    return [await _make_worker(settings, plan, one, agent, links, slots, governor) for one in made]


class _Made(NamedTuple):
    planned: ActionPlan
    action: Action
    limiters: Mapping[str, Limiter]


def _make(settings: Settings, planned: ActionPlan, agent: Agent, sinks: Sinks) -> _Made:
    limiters = limiters_of(planned, definition_of(agent))
    return _Made(planned, make_action(settings, planned, agent, limiters, sinks), limiters)


async def _make_worker(
    settings: Settings,
    plan: Plan,
    made: _Made,
    agent: Agent,
    links: Links,
    slots: Slots,
    governor: Governor,
) -> Worker:
    planned, action, limiters = made
    definition = definition_of(agent)
    spec = definition.action(planned.name)
    options = spec.options if spec is not None else None
    link = await links.link(planned)
    codec = event_codec(settings)
    builder = ResultBuilder(settings, plan, action, codec, Journal.of(settings, plan, planned, agent))
    worker = Worker(
        settings,
        planned,
        action,
        builder,
        codec,
        link.restorer,
        order=options.order if options is not None else "unordered",
        concurrency=(options.concurrency if options is not None else None) or settings.concurrency,
        retry=retry_of(planned, definition),
        slots=slots,
        governor=governor,
        limiters=list(limiters.values()),
        partitions=link.partitions,
        largest_span=largest_span(link.metadata_limit),
        admin=link.admin,
        threads=link.executor(3, f"worker-{planned.name}"),
    )
    committer = Committer(
        planned.name,
        link.producer,
        settings.topics.parked,
        settings.topics.state,
        builder,
        worker.committed,
        worker.fenced,
        largest_bytes=settings.buffer_bytes,
        thread=link.executor(1, f"producer-{planned.name}"),
    )
    await committer.open()
    worker.connect(committer, *link.takers(worker))
    return worker
