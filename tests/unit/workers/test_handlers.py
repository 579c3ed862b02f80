"""Running handlers, by themselves: what each of them holds is given back, however it ends."""

import asyncio
from typing import Any, cast

from parkway.runtime.records import Incoming
from parkway.workers.adoption import Carried
from parkway.workers.effects import Action, Effects, Task
from parkway.workers.governor import Governor
from parkway.workers.handlers import Handlers
from parkway.workers.limiter import Limiter, Permit
from parkway.workers.results import ResultBuilder
from parkway.workers.share import Share
from parkway.workers.slots import Slots
from parkway.workers.vitals import Vitals
from parkway.workers.work import Epoch, Lane, Result, Work


class Sleeper:
    """An action that runs until it is cancelled."""

    name = "sleep"

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.task: asyncio.Task[Any] | None = None

    async def handle(self, _task: Task) -> Effects:
        self.task = asyncio.current_task()
        self.began.set()
        await asyncio.Event().wait()
        raise AssertionError


class Builder:
    def handled(self, work: Work, task: Task, _effects: Effects) -> Result:
        return Result(work.epoch, work.partition, work, task)


class One:
    """A process with one slot and a limit of one call at once, both taken by a handler that sleeps."""

    def __init__(self) -> None:
        self.action = Sleeper()
        self.slots = Slots(1)
        self.governor = Governor(lambda: 0, 1)
        self.carried = Carried()
        self.crashes: list[BaseException] = []
        self.limiter = Limiter("calls", concurrency=1)
        self.limiter.own(Share(frozenset({0}), 1))
        self.handlers = Handlers(
            cast("Action", self.action),
            "group",
            cast("ResultBuilder", Builder()),
            self.slots,
            self.governor,
            self.carried,
            Vitals("sleep", "group"),
            capture_content=False,
            finished=lambda _work, _result: None,
            crashed=self.crashes.append,
        )
        permit = self.limiter.try_take()
        assert isinstance(permit, Permit)
        self.work = Work(Epoch(1, None), Lane.NEW, Incoming("topic", 0, 0, 0, None, b"{}", []), request_id="r")
        self.handlers.start(self.work, Task({}, 0), permit)
        assert not self.is_free

    @property
    def is_free(self) -> bool:
        return self.slots.available(lambda: None) and not self.limiter._running

    async def until_free(self) -> None:
        async with asyncio.timeout(10):
            while not self.is_free:  # noqa: ASYNC110
                await asyncio.sleep(0)


async def test_what_is_cancelled_before_its_first_step_gives_back_what_it_holds() -> None:
    one = One()
    assert one.handlers.stop(0, "r") is one.work
    await one.until_free()
    assert not one.action.began.is_set()
    assert one.crashes == []


async def test_what_is_cancelled_while_it_runs_does_too() -> None:
    one = One()
    await one.action.began.wait()
    one.handlers.end_epoch()
    one.carried.drop()
    await one.until_free()
    assert one.action.task is not None
    assert one.action.task.cancelled()
    assert one.crashes == []


async def test_our_own_failure_is_told_and_gives_back_too() -> None:
    one = One()
    one.handlers._finished = _fail
    one.action.handle = _at_once  # type: ignore[method-assign]
    await one.until_free()
    assert [type(crash) for crash in one.crashes] == [ZeroDivisionError]


async def _at_once(_task: Task) -> Effects:
    return Effects()


def _fail(_work: Work, _result: Result) -> None:
    raise ZeroDivisionError
