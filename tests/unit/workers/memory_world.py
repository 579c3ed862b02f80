"""A broker's side of one action with state and steps, in memory: what is committed, and what is fenced.

The worker, its flow, its committer and its adoption are the real ones; the producer, the consumer and the reading of a
restore stand here, and the dice say what goes wrong.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from confluent_kafka import Message, TopicPartition
from confluent_kafka.admin import AdminClient
from pydantic import BaseModel
from worker_harness import CODEC, SETTINGS, TOPICS

from parkway.agents import Agent, Context, Event, Retry, action, build_plan, definition_of
from parkway.runtime.records import Incoming, Record
from parkway.runtime.recovery import RecoveringProducer
from parkway.runtime.transaction_errors import AbortedError, GroupFencedError
from parkway.schemas.parked import ParkedStep
from parkway.workers.actions.user import UserAction
from parkway.workers.committer import Committer
from parkway.workers.completion import Completion
from parkway.workers.consumers import GroupConsumer
from parkway.workers.governor import Governor
from parkway.workers.journal import Journal
from parkway.workers.kept import Kept
from parkway.workers.parked_reader import ParkedReader
from parkway.workers.restore import Restorer, _start_from
from parkway.workers.restored import Restored
from parkway.workers.results import ResultBuilder
from parkway.workers.slots import Slots
from parkway.workers.work import Epoch, Lane
from parkway.workers.worker import Worker

ACTION = "count"
Place = tuple[str, int]


class Input(BaseModel):
    number: int
    waits: list[float]
    fails: int = 0


class World:
    """One partition. `dice` decide what a transaction comes to."""

    def __init__(self, inputs: Sequence[tuple[bytes, Input]], dice: random.Random) -> None:
        self.dice = dice
        self.inputs = [given for _, given in inputs]
        self.records = [
            Incoming(TOPICS.action(ACTION), 0, offset, 0, key, event(given), [])
            for offset, (key, given) in enumerate(inputs)
        ]
        self.committed = TopicPartition(TOPICS.action(ACTION), 0, 0)
        self.generation = 0
        self.logs: dict[str, list[Record]] = defaultdict(list)
        self.trouble = 0.0  # how likely a transaction aborts
        self.ran: Counter[int] = Counter()
        self.ran_again: list[int] = []  # steps that were computed although their result was committed

    def live(self, topic: str) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for record in self.logs[topic]:
            assert record.key is not None
            found.pop(record.key, None)
            if record.value is not None:
                found[record.key] = record.value
        return found

    def outputs(self) -> list[tuple[bytes | None, Any]]:
        outputs = self.logs[TOPICS.outputs]
        return [(one.key, Event.parse(one.value or b"").attributes["output"]) for one in outputs]

    def compute(self, number: int) -> int:
        """The step's work."""
        self.ran[number] += 1
        steps = [ParkedStep.from_json(value) for value in self.live(TOPICS.parked).values()]
        if any(step.event_id == f"e{number}" for step in steps):
            self.ran_again.append(number)
        return number * 10 + self.ran[number]

    def all_done(self) -> bool:
        return self.committed.offset == len(self.records)


def event(given: Input) -> bytes:
    return Event("input", given.model_dump(), id=f"e{given.number}").to_json()


class Producer:
    """Stands where a `RecoveringProducer` does: a transaction is committed whole, aborted, or fenced."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.delivered: dict[Place, int] = {}

    def commit(self, records: Sequence[Record], offsets: Sequence[TopicPartition], metadata: Any) -> None:
        world = self._world
        self.delivered = {}
        if metadata != world.generation:
            raise GroupFencedError("the group has moved on")
        if world.dice.random() < world.trouble:
            raise AbortedError("as the dice wanted")
        for record in records:
            world.logs[record.topic].append(record)
            self.delivered[record.topic, 0] = len(world.logs[record.topic]) - 1
        (world.committed,) = offsets


class Read:
    """A message as a restore reads it."""

    def __init__(self, record: Record, offset: int) -> None:
        self._record, self._offset = record, offset

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._record.key

    def value(self) -> bytes | None:
        return self._record.value


class Reader:
    """Stands where a `Restorer` does."""

    def __init__(self, world: World) -> None:
        self._world = world

    def restore(self, partitions: Sequence[int], kept: Mapping[int, Kept], _cancelled: object) -> dict[int, Restored]:
        world = self._world
        committed = world.committed
        completion, found, ignored = Completion.restore("id", committed.offset, committed.metadata)
        assert ignored is None
        stamps = {Lane.NEW: found.stamp} if found is not None else {}
        one = Restored({Lane.NEW: completion}, stamps, found.number if found is not None else 0)
        one.ends = {Lane.NEW: len(world.records)}
        here = kept.get(0)
        _start_from(one, here, len(world.logs[TOPICS.parked]))
        read = [Read(record, offset) for offset, record in enumerate(world.logs[TOPICS.parked])]
        ParkedReader(ACTION, {0: one}).take(cast("list[Message]", read[one.parked_from :]))
        states = world.logs[TOPICS.state]
        one.state_upto = len(states)
        if here is not None:
            one.state, one.state_from = here.state, here.state_upto
        for record in states[one.state_from :]:
            assert record.key is not None
            one.state.change(record.key.removeprefix(b"count/"), record.value)
        return dict.fromkeys(partitions, one)


class Group:
    """Stands where a `GroupConsumer` does: everything from the position on is taken at once."""

    lane = Lane.NEW

    def __init__(self, world: World, worker: Worker) -> None:
        self._world, self._worker = world, worker

    def want(self, records: int, full: frozenset[int]) -> None: ...

    def start_taking(self, epoch: Epoch, offsets: Sequence[tuple[int, int]]) -> None:
        ((_, begin),) = offsets
        asyncio.get_running_loop().call_soon(self._worker.taken, epoch, Lane.NEW, [*self._world.records[begin:]])


class Process:
    """A worker process of the action."""

    def __init__(self, world: World) -> None:
        self.world = world
        agent = _agent(world)
        plan = build_plan(agent, "test:Counters")
        planned = plan.action(ACTION)
        spec = definition_of(agent).action(ACTION)
        assert planned is not None
        assert spec is not None
        code = UserAction(agent(), spec)
        self.builder = builder = ResultBuilder(SETTINGS, plan, code, CODEC, Journal(planned, plan.build))
        slots = Slots(1_000)
        self.worker = Worker(
            SETTINGS,
            planned,
            code,
            builder,
            CODEC,
            cast("Restorer", Reader(world)),
            order="key",
            concurrency=20,
            retry=spec.options.retry,
            slots=slots,
            governor=Governor(lambda: 0, 1_000),
            limiters=[],
            partitions=1,
            largest_span=20_000,
            admin=cast("AdminClient", None),
        )
        self.committer = Committer(
            ACTION,
            cast("RecoveringProducer", Producer(world)),
            TOPICS.parked,
            TOPICS.state,
            builder,
            self.worker.committed,
            self.worker.fenced,
            largest_bytes=10**9,
        )
        self.worker.connect(self.committer, cast("GroupConsumer", Group(world, self.worker)), None)
        self._running = asyncio.create_task(self.committer.run())
        self._epochs = 0

    async def assign(self) -> None:
        self._epochs += 1
        self.worker.assigned(Epoch(self._epochs, self.world.generation), [0])

    async def revoke(self) -> None:
        await self.worker.revoked(lost=False)

    def held_steps(self) -> int:
        """Steps in memory as committed; -1 before the restore is done."""
        if self.worker._assignment is None:
            return -1
        return len(self.worker._assignment.partitions[0].steps)

    def kill(self) -> None:
        """Its memory is gone, and what it would still write is fenced."""
        self.world.generation += 1
        self._running.cancel()
        self.worker.fenced()


def _agent(world: World) -> type[Agent]:
    async def count(self: Agent, given: Input, ctx: Context) -> None:
        seen: int = ctx.state.get("seen", 0) + 1
        ctx.state["seen"] = seen
        await asyncio.sleep(given.waits[0])
        made = await ctx.step("compute", world.compute, given.number)
        await asyncio.sleep(given.waits[1])
        if ctx.attempt <= given.fails:
            raise ValueError
        ctx.output({"number": given.number, "seen": seen, "made": made})

    mark = action("input", external=True, state=True, steps=True, retry=Retry(attempts=3, backoff=0.001))
    return type("Counters", (Agent,), {"count": mark(count)})
