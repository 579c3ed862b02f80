"""Where an attempt waits for its steps: what becomes of it when Kafka refuses one, or when the attempt is over."""

import asyncio
import random

import pytest
from memory_world import Input, Process, World

from parkway.agents.errors import ContextError
from parkway.agents.step import StepError
from parkway.workers.steps import AttemptLog
from parkway.workers.work import Lane, Result, Work


class Waiting:
    """An attempt at the one record of a world, whose steps wait in a list instead of a transaction."""

    def __init__(self) -> None:
        world = World([(b"k", Input(number=0, waits=[3600, 0]))], random.Random(0))
        self.process = Process(world)
        self.results: list[Result] = []

    async def begin(self) -> AttemptLog:
        worker = self.process.worker
        await self.process.assign()
        while worker._assignment is None:  # noqa: ASYNC110  a test's wait
            await asyncio.sleep(0.01)
        self.steps = worker._flow.steps
        self.steps._add = self.results.append
        (partition,) = worker._assignment.partitions.values()
        record = self.process.world.records[0]
        self.work = Work(worker._assignment.epoch, Lane.NEW, record, {"id": "e0"})
        self.partition = partition
        return self.steps.log(partition, self.work)


async def test_it_returns_when_it_is_committed_and_not_before() -> None:
    waiting = Waiting()
    log = await waiting.begin()
    step = asyncio.create_task(log.record("a", b"1"))
    await asyncio.sleep(0.05)
    assert not step.done()
    (result,) = waiting.results
    assert result.work is None  # the record's own offset stays unfinished
    assert result.recording is not None
    # Another attempt finds it, and waits for the same outcome.
    again = asyncio.create_task(waiting.steps.log(waiting.partition, waiting.work).find("a"))
    await asyncio.sleep(0.05)
    assert not again.done()
    result.recording.commit()
    await step
    assert await again == b"1"


async def test_a_result_that_kafka_refuses_raises_and_may_be_tried_again() -> None:
    waiting = Waiting()
    log = await waiting.begin()
    step = asyncio.create_task(log.record("a", b"1"))
    await asyncio.sleep(0)
    (result,) = waiting.results
    assert waiting.process.builder.undeliverable(result, "there is no topic ns.parked")
    assert result.produced() == []
    with pytest.raises(StepError, match=r"Kafka refused its result: there is no topic ns.parked"):
        await step
    assert await log.find("a") is None


async def test_who_waits_in_a_thread_is_let_go_when_the_attempt_is_over() -> None:
    waiting = Waiting()
    log = await waiting.begin()
    loop = asyncio.get_running_loop()
    thread = asyncio.create_task(
        asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(log.record("a", b"1"), loop).result())
    )
    while not waiting.results:  # noqa: ASYNC110  a test's wait
        await asyncio.sleep(0.01)
    log.close()
    with pytest.raises(ContextError, match="the attempt that this step belongs to is over"):
        await thread
    with pytest.raises(ContextError):
        await log.record("b", b"1")
