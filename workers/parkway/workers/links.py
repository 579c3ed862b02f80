"""What joins a worker to its topics: Kafka's clients. A test puts a log in memory in their place, and nothing else."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from confluent_kafka.admin import AdminClient

from parkway.runtime.clients import admin_client, group_consumer, manual_consumer
from parkway.runtime.health import Health
from parkway.runtime.logs import get_logger
from parkway.runtime.membership import wait_for_dead_members
from parkway.runtime.not_ready import until_ready
from parkway.runtime.recovery import Commits, RecoveringProducer
from parkway.runtime.settings import Settings
from parkway.runtime.topology import offset_metadata_limit, partition_count, topic_ids
from parkway.schemas.plan import ActionPlan
from parkway.workers.consumer_thread import Listener
from parkway.workers.consumers import GroupConsumer, ResumeConsumer
from parkway.workers.entry_store_memory import MemoryEntries
from parkway.workers.restore import Restorer
from parkway.workers.stores import Stores
from parkway.workers.takers import ResumeTaker, Taker

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Link:
    """What the worker of one action reaches its topics by.

    `takers` makes what takes records: that of the group, and where the action parks that of the continuations.
    `executor` gives threads, so many and of that name, for what waits for a broker.
    """

    admin: AdminClient
    restorer: Restorer
    producer: Commits
    partitions: int
    metadata_limit: int  # bytes of an offset's metadata
    takers: Callable[[Listener], tuple[Taker, ResumeTaker | None]]
    executor: Callable[[int, str], Executor]


class Links(Protocol):
    """Makes the links of a process."""

    async def link(self, planned: ActionPlan) -> Link: ...


class KafkaLinks:
    """Those of the process that holds `instance`. Used on the event loop.

    `predecessor_died`: a group member that is still there under this name is a ghost, and is not waited for.
    """

    def __init__(
        self, settings: Settings, instance: str, health: Health, stores: Stores, *, predecessor_died: bool
    ) -> None:
        self._settings = settings
        self._instance = instance
        self._predecessor_died = predecessor_died
        self._health = health
        self._stores = stores
        self._admin = admin_client(settings, f"{settings.namespace}.worker.{instance}")

    async def link(self, planned: ActionPlan) -> Link:
        """Raises InstanceError when a live process has this instance's name, NotReadyError when Kafka is not ready."""
        settings, admin, topics = self._settings, self._admin, self._settings.topics
        group = topics.worker_group(planned.name)
        client_id = f"{settings.namespace}.worker.{planned.name}.{self._instance}"
        if self._predecessor_died:
            get_logger("worker").info(
                "predecessor_died", action=planned.name, its_partitions_come_within_seconds=settings.session_timeout
            )
        else:
            await asyncio.to_thread(wait_for_dead_members, settings, group, client_id)
        named = [topics.action(planned.name), *([topics.resume(planned.name)] if planned.parks else [])]
        restorer = Restorer(
            settings,
            admin,
            topic_ids=await self._ready("the ids of its topics", topic_ids, admin, named),
            planned=planned,
            make_store=self._stores.of_action(planned.name) if planned.parks else MemoryEntries,
        )
        return Link(
            admin=admin,
            restorer=restorer,
            producer=RecoveringProducer(settings, f"{client_id}.0", group, self._instance),
            partitions=await self._ready("how many partitions there are", partition_count, admin, named[0]),
            metadata_limit=await self._ready("its `offset.metadata.max.bytes`", offset_metadata_limit, admin),
            takers=lambda listener: self._takers(planned, group, client_id, listener),
            executor=lambda threads, name: ThreadPoolExecutor(threads, thread_name_prefix=name),
        )

    async def _ready(self, what: str, call: Callable[..., T], *arguments: Any) -> T:
        settings = self._settings
        asked = partial(call, *arguments)
        return await asyncio.to_thread(until_ready, what, asked, settings.bootstrap_servers, settings.start_timeout)

    def _takers(
        self, planned: ActionPlan, group: str, client_id: str, listener: Listener
    ) -> tuple[Taker, ResumeTaker | None]:
        loop, topics = asyncio.get_running_loop(), self._settings.topics
        # Positions are always explicit here; one that the log cannot serve must be seen, not mended (restore.py).
        consumer = group_consumer(self._settings, client_id, group, **{"auto.offset.reset": "error"})
        name = planned.name
        group_thread = GroupConsumer(f"{name}-group", consumer, topics.action(name), loop, listener)
        group_thread.register(self._health)
        if not planned.parks:
            return group_thread, None
        manual = manual_consumer(self._settings, f"{client_id}.resume", **{"auto.offset.reset": "error"})
        resume_thread = ResumeConsumer(f"{name}-resume", manual, topics.resume(name), loop, listener)
        resume_thread.register(self._health)
        return group_thread, resume_thread
