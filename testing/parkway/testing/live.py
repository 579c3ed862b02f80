"""An installation on a real Kafka: the router on a thread, the workers as tasks, so that scripted models work.

Its topics are those of a namespace of its own, and are deleted when it stops. Quiet means: the router has committed
everything that is in its topics, the workers have completed everything that is in theirs, and nothing runs.
"""

import asyncio
import atexit
import contextlib
import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any, Final, Literal

from confluent_kafka import KafkaException, Message, TopicPartition
from confluent_kafka.admin import NewTopic

from parkway.router.plan_watch import PlanLoader
from parkway.router.service import Router
from parkway.runtime.clients import admin_client, plain_producer
from parkway.runtime.codec import event_codec
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.health import Health, Kind
from parkway.runtime.log_offsets import high_watermarks
from parkway.runtime.log_reader import read_up_to
from parkway.runtime.records import Record
from parkway.runtime.topology import apply_topics
from parkway.testing.clock import ClockedLoop
from parkway.testing.errors import AgentTestError, NotQuietError
from parkway.testing.kafka import Broker, BrokerError, open_broker
from parkway.testing.log_record import LogRecord
from parkway.testing.setup import Setup
from parkway.workers.fleet import make_workers, opened
from parkway.workers.links import KafkaLinks
from parkway.workers.stores import Stores
from parkway.workers.worker import Worker

Place = tuple[str, int]

_INSTANCE: Final = "test"
_LOOK: Final = 0.02
_ASK: Final = 2.0
_READY: Final = 60.0
_READ: Final = 30.0
_LEAVE: Final = 20.0


def live_settings(kafka: str | Literal[True]) -> dict[str, Any]:
    """Settings of an installation of its own. `kafka`: `host:port`, or True for a broker that is started."""
    servers = kafka if isinstance(kafka, str) else _started_broker().bootstrap_servers
    return {
        "bootstrap_servers": servers,
        "namespace": f"t-{secrets.token_hex(4)}",
        "instance": _INSTANCE,
        "session_timeout": 6.0,
        "transaction_timeout": 10.0,
    }


@cache
def _started_broker() -> Broker:
    """One for all tests of this process; it ends with it."""
    stack = ExitStack()
    atexit.register(stack.close)
    try:
        return stack.enter_context(open_broker())
    except BrokerError as error:
        raise AgentTestError(f"kafka=True: {error}") from error


class KafkaInstallation:
    """An `installation.Installation`."""

    def __init__(self, setup: Setup, loop: ClockedLoop) -> None:
        self._setup = setup
        self._loop = loop
        settings = self._settings = setup.settings
        self._admin = admin_client(settings, f"{settings.namespace}.test")
        self._producer = plain_producer(settings, f"{settings.namespace}.test.producer", {"linger.ms": 0})
        self._health = Health()
        self._router: Router | None = None
        self._router_thread: threading.Thread | None = None
        self._problem: BaseException | None = None
        self._workers: list[Worker] = []
        self._runs: list[asyncio.Task[None]] = []
        self._read: dict[Place, list[LogRecord]] = {}
        self._places: list[Place] = []
        self._stable: GroupOffsets | None = None
        self._leave = asyncio.Event()
        self._life: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises TopologyError, AgentError, and whatever the agent's lifespan raises."""
        await asyncio.to_thread(self._create_topics)
        ready = self._loop.create_future()
        self._life = asyncio.create_task(self._live(ready))
        await asyncio.wait([self._life, ready], return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            self._life.result()
        await self._until_ready()

    async def stop(self) -> None:
        self._leave.set()
        try:
            if self._life is not None:
                await self._life
        finally:
            await asyncio.to_thread(self._clean_up)

    async def send(self, records: Sequence[Record]) -> None:
        def produce() -> None:
            for one in records:
                self._producer.produce(one.topic, one.value, one.key, one.partition, headers=one.headers)
            if self._producer.flush(_READ):
                raise AgentTestError(f"Kafka at {self._settings.bootstrap_servers} takes no records: is it up?")

        await asyncio.to_thread(produce)

    async def read(self) -> list[LogRecord]:
        await asyncio.to_thread(self._read_on, await self._ends())
        every = [record for records in self._read.values() for record in records]
        return sorted(every, key=lambda record: record.timestamp)  # stable: a partition's keep their order

    async def run(self, at_most: float, patience: float) -> None:
        give_up = time.monotonic() + patience
        limit = self._loop.time() + at_most
        while True:
            self._raise_problems()
            ends = await self._ends()
            if await self._is_quiet(ends) and await self._ends() == ends:
                return
            if time.monotonic() > give_up:
                raise NotQuietError(f"not quiet within {patience:g} s: {await self._in_flight(ends)}")
            if self._loop.time() > limit:
                raise NotQuietError(f"not quiet within {at_most:g} s of the clock: {await self._in_flight(ends)}")
            await self._skip_waits()
            await asyncio.sleep(_LOOK)

    # -- life

    async def _live(self, ready: asyncio.Future[None]) -> None:
        """The process: its lifespan begins and ends in this task."""
        setup, settings = self._setup, self._settings
        agent = setup.instance()
        stores = Stores(settings, f"{settings.namespace}.{_INSTANCE}")
        async with opened(agent):
            try:
                links = KafkaLinks(settings, _INSTANCE, self._health, stores, predecessor_died=True)
                self._workers = await make_workers(settings, setup.plan, agent, setup.actions, links)
                for worker in self._workers:
                    worker.vitals.register(self._health)
                self._runs = [asyncio.create_task(worker.run()) for worker in self._workers]
                await asyncio.to_thread(self._start_router)
                self._health.started()
                ready.set_result(None)
                await self._leave.wait()
            finally:
                await self._end_runs()
                stores.remove()

    async def _end_runs(self) -> None:
        try:
            async with asyncio.timeout(_LEAVE):
                await asyncio.gather(*(worker.drain(0) for worker in self._workers))
        except TimeoutError:
            self._problem = self._problem or AgentTestError("the workers did not leave their groups in time")
        for run in self._runs:
            run.cancel()
        if self._runs:
            await asyncio.wait(self._runs)
        if self._router is not None and self._router_thread is not None:
            self._router.stop()
            await asyncio.to_thread(self._router_thread.join, _LEAVE)

    def _start_router(self) -> None:
        loader = PlanLoader(self._settings, self._admin, event_codec(self._settings))
        self._router = Router(self._settings, loader.load(self._setup.plan), _INSTANCE)
        self._router.register(self._health)
        self._router_thread = threading.Thread(target=self._route, name="router", daemon=True)
        self._router_thread.start()

    def _route(self) -> None:
        assert self._router is not None
        try:
            self._router.run()
        except BaseException as error:
            self._problem = error

    def _create_topics(self) -> None:
        setup, settings = self._setup, self._settings
        foreign = setup.foreign_topics()
        if foreign:
            wanted = [NewTopic(name, num_partitions=setup.partitions, replication_factor=1) for name in foreign]
            for future in self._admin.create_topics(wanted).values():
                with contextlib.suppress(KafkaException):  # it is there
                    future.result()
        apply_topics(self._admin, settings.bootstrap_servers, settings.topics, setup.plan, setup.partitions)
        self._places = [
            (spec.name, one) for spec in setup.topics() for one in range(spec.partitions or setup.partitions)
        ]
        self._stable = GroupOffsets(settings, f"{settings.namespace}.test.offsets", settings.topics.router_group)

    def _clean_up(self) -> None:
        if self._stable is not None:
            self._stable.close()
        names = sorted({topic for topic, _ in self._places})
        if names:
            for future in self._admin.delete_topics(names).values():
                with contextlib.suppress(KafkaException):
                    future.result()

    async def _until_ready(self) -> None:
        give_up = time.monotonic() + _READY
        while not (report := self._health.report(Kind.READY)).ok:
            self._raise_problems()
            if time.monotonic() > give_up:
                raise NotQuietError(f"not ready within {_READY:g} s: {report.body['checks']}")
            await asyncio.sleep(_LOOK)

    # -- looks

    async def _is_quiet(self, ends: dict[Place, int]) -> bool:
        if not all(worker.is_quiet and worker.behind(ends) == 0 for worker in self._workers):
            return False
        return not await self._router_behind(ends)

    async def _router_behind(self, ends: dict[Place, int]) -> list[str]:
        """What of its topics the router has not committed."""
        topics = self._settings.topics
        read = {topics.requests, topics.events, *(source.topic for source in self._setup.plan.sources)}
        places = [TopicPartition(*place) for place in ends if place[0] in read]
        assert self._stable is not None
        committed = await asyncio.to_thread(self._stable.committed, places, _ASK)
        if committed is None:
            return ["offsets that are being committed"]
        return [
            f"{one.topic}/{one.partition} from {one.offset} on"
            for one in committed
            if max(0, one.offset) < ends[one.topic, one.partition]
        ]

    async def _in_flight(self, ends: dict[Place, int]) -> str:
        told = [worker.in_flight() for worker in self._workers]
        told += [f"action {worker.name!r} is behind" for worker in self._workers if worker.behind(ends)]
        behind = await self._router_behind(ends)
        return "; ".join(filter(None, [*told, f"the router: {', '.join(behind)}" if behind else ""]))

    async def _skip_waits(self) -> None:
        """Where nothing runs, and a record waits for its next attempt: move the clock there."""
        waits = [worker.next_attempt() for worker in self._workers]
        known = [seconds for seconds in waits if seconds is not None]
        if known and not any(worker.runs for worker in self._workers):
            await self._loop.advance(min(known))

    async def _ends(self) -> dict[Place, int]:
        while True:
            ends = await asyncio.to_thread(high_watermarks, self._admin, self._places)
            if ends is not None:
                return ends
            await asyncio.sleep(_LOOK)

    def _read_on(self, ends: dict[Place, int]) -> None:
        """Read what was written since the last time."""
        begins = {place: records[-1].offset + 1 if (records := self._read.get(place)) else 0 for place in ends}
        for message in read_up_to(self._settings, f"{self._settings.namespace}.test.reader", begins, ends, _READ):
            record = _record(message)
            self._read.setdefault((record.topic, record.partition), []).append(record)

    def _raise_problems(self) -> None:
        if self._problem is not None:
            raise self._problem
        for run in self._runs:
            if run.done() and not run.cancelled() and (error := run.exception()) is not None:
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]
                raise error


def _record(message: Message) -> LogRecord:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    headers: Any = message.headers() or []
    return LogRecord(topic, partition, offset, message.timestamp()[1], message.key(), message.value(), headers)
