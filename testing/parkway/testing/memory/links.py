"""The links of a worker to the log in memory."""

from typing import Any, cast

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from parkway.runtime.settings import Settings
from parkway.schemas.plan import ActionPlan
from parkway.testing.memory.clients import HereExecutor, MemoryAdmin, MemoryOffsets, MemoryProducer, MemoryReader
from parkway.testing.memory.lives import Lives
from parkway.testing.memory.log import MemoryLog
from parkway.testing.memory.takers import MemoryGroup, MemoryTaker
from parkway.workers.consumer_thread import Listener
from parkway.workers.links import Link
from parkway.workers.restore import Restorer
from parkway.workers.takers import ResumeTaker, Taker
from parkway.workers.work import Lane

_METADATA_LIMIT = 4096  # the broker's default


class MemoryLinks:
    """A `links.Links`."""

    def __init__(self, settings: Settings, log: MemoryLog, lives: Lives) -> None:
        self._settings = settings
        self._log = log
        self._lives = lives

    async def link(self, planned: ActionPlan) -> Link:
        log, topics = self._log, self._settings.topics
        group = topics.worker_group(planned.name)
        admin = cast("AdminClient", MemoryAdmin(log))
        named = [topics.action(planned.name), topics.resume(planned.name)]
        restorer = Restorer(
            self._settings,
            admin,
            topic_ids={name: f"id-of-{name}" for name in named},
            planned=planned,
            offsets=MemoryOffsets(log, group),
            open_reader=self._reader,
        )
        executor = HereExecutor()
        return Link(
            admin=admin,
            restorer=restorer,
            producer=MemoryProducer(log, group, self._lives),
            partitions=log.partitions,
            metadata_limit=_METADATA_LIMIT,
            takers=lambda listener: self._takers(planned, listener),
            executor=lambda _threads, _name: executor,
        )

    def _reader(self, *_: Any, **__: Any) -> Consumer:
        return cast("Consumer", MemoryReader(self._log))

    def _takers(self, planned: ActionPlan, listener: Listener) -> tuple[Taker, ResumeTaker | None]:
        topics = self._settings.topics
        group = MemoryGroup(self._log, topics.action(planned.name), Lane.NEW, listener)
        if not planned.parks:
            return group, None
        return group, MemoryTaker(self._log, topics.resume(planned.name), Lane.RESUME, listener)
