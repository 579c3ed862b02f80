"""The router's loop over the log in memory: the real routing, publisher and offsets, one batch after the other."""

import asyncio
from collections.abc import Callable
from typing import Final

from confluent_kafka import TopicPartition

from parkway.router.progress import Epoch, Place, Progress
from parkway.router.publisher import Batch, Publisher
from parkway.router.routing import Routing
from parkway.testing.memory.clients import HereExecutor, MemoryOffsets, MemoryProducer
from parkway.testing.memory.lives import Lives
from parkway.testing.memory.log import MemoryLog
from parkway.testing.memory.takers import incoming_of

_BATCH: Final = 5_000


class MemoryRouter:
    """Routes what is in the log when it starts, and what is written from then on. Used on the event loop only.

    `failed` gets what ends the router: DiedError at the point of death, else a defect.
    """

    def __init__(
        self, routing: Routing, group: str, log: MemoryLog, lives: Lives, failed: Callable[[Exception], None]
    ) -> None:
        self._routing = routing
        self._log = log
        self._failed = failed
        self._due = False
        self._ended = False
        places = [TopicPartition(topic, one) for topic in routing.input_topics for one in range(log.partitions)]
        committed = MemoryOffsets(log, group).committed(places, 0)
        self._positions: dict[Place, int] = {(one.topic, one.partition): max(0, one.offset) for one in committed}
        self._epoch = Epoch(None, places)
        begins = [TopicPartition(*place, offset) for place, offset in self._positions.items()]
        self._progress = Progress(begins, routing.plan.build)
        self._publisher = Publisher(MemoryProducer(log, group, lives), lambda: None, HereExecutor())
        log.watch(self._written)

    def start(self) -> None:
        self._route_soon()

    def end(self) -> None:
        self._ended = True

    def _written(self, places: set[Place]) -> None:
        if not places.isdisjoint(self._positions):
            self._route_soon()

    def _route_soon(self) -> None:
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._route)

    def _route(self) -> None:
        self._due = False
        if self._ended:
            return
        sources = [
            incoming_of(record)
            for (topic, partition), position in self._positions.items()
            for record in self._log.read(topic, partition, position, _BATCH)
        ]
        if not sources:
            return
        caused = [self._routing.route(source) for source in sources]
        self._routing.report()
        nexts = {(source.topic, source.partition): source.offset + 1 for source in sources}
        self._positions.update(nexts)
        try:
            self._publisher.submit(Batch(self._epoch, self._routing, sources, caused, self._progress.advance(nexts)))
            self._publisher.settle()
        except Exception as error:
            self._ended = True
            self._failed(error)
