"""The way of a record through a worker, without Kafka: what is finished lands in a list instead of a transaction."""

import asyncio
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, cast

from parked_records import parked, records
from worker_harness import CODEC, SETTINGS, TOPICS

from parkway.agents import Agent, Context, Event, Retry, action, definition_of
from parkway.agents.build import build_plan
from parkway.runtime.codec import EventCodec
from parkway.runtime.records import Incoming
from parkway.schemas.avro.codec import RegistryUnavailableError
from parkway.schemas.plan import Plan
from parkway.workers.actions.user import UserAction
from parkway.workers.adoption import Carried
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.committer import Committer
from parkway.workers.completion import Completion
from parkway.workers.entry_store import EntryStore
from parkway.workers.entry_store_memory import MemoryEntries
from parkway.workers.flow import Flow
from parkway.workers.governor import Governor
from parkway.workers.held_up import HeldUp
from parkway.workers.in_hand import InHand
from parkway.workers.journal import Journal
from parkway.workers.restored import Restored
from parkway.workers.results import ResultBuilder
from parkway.workers.slots import Slots
from parkway.workers.vitals import Vitals
from parkway.workers.work import Epoch, Lane, Result

CONCURRENCY = 100
mark: ContextVar[str | None] = ContextVar("mark", default=None)


class Desk(Agent):
    @action("ticket", order="unordered", retry=Retry(attempts=3, backoff=0))
    async def handle(self, event: Event, ctx: Context) -> None:
        lines = event.attributes["lines"]
        ctx.output({"attempt": ctx.attempt, "seen": list(lines), "mark": mark.get()})
        mark.set("set by a handler")
        lines.append("changed")
        if ctx.attempt < event.attributes.get("attempts", 1):
            raise TimeoutError


class Results:
    """Stands where the committer does."""

    full = False

    def __init__(self, happened: asyncio.Event) -> None:
        self.added: list[Result] = []
        self._happened = happened

    def add(self, result: Result) -> None:
        self.added.append(result)
        self._happened.set()

    @property
    def outputs(self) -> list[Any]:
        records = [record for result in self.added for record in result.records if record.topic == TOPICS.outputs]
        return [Event.parse(record.value or b"").attributes["output"] for record in records]


class Running:
    """A flow with one partition of the action `handle`."""

    def __init__(self, codec: EventCodec = CODEC, store: EntryStore | None = None) -> None:
        plan: Plan = build_plan(Desk, "test:Desk")
        planned = plan.action("handle")
        assert planned is not None
        desk = UserAction(Desk(), definition_of(Desk).action("handle"))
        lanes = {lane: Completion("topic-id", 0) for lane in Lane}
        partition = Partition(0, Restored(lanes, {}, 0, store or MemoryEntries()), "handle", TOPICS)
        self.assignment = Assignment(Epoch(1, None), {0: partition})
        self.happened = asyncio.Event()
        self.results = Results(self.happened)
        self.crashes: list[BaseException] = []
        self.updates = 0
        self.flow = Flow(
            SETTINGS,
            planned,
            desk,
            ResultBuilder(SETTINGS, plan, desk, codec, Journal(planned, plan.build)),
            codec,
            order="unordered",
            concurrency=CONCURRENCY,
            retry=Retry(attempts=3, backoff=0),
            slots=Slots(1_000),
            governor=Governor(lambda: 0, 1_000),
            carried=Carried(),
            in_hand=InHand(1_000_000),
            held_up=HeldUp(1_000_000),
            vitals=Vitals("handle", "group"),
            current=lambda: self.assignment,
            crashed=self._crashed,
        )
        self.flow.connect(cast("Committer", self.results), self._update)
        self.flow.admission.begin_epoch(self.assignment)
        partition.offsets({}, "stamp")  # the first transaction of an epoch: the map says `unclean`
        partition.committed({}, None)

    def _update(self) -> None:
        self.updates += 1

    def _crashed(self, error: BaseException) -> None:
        self.crashes.append(error)
        self.happened.set()

    def take(self, events: Sequence[dict[str, Any]]) -> None:
        bodies = [Event("ticket", attributes, id=f"{number}").to_json() for number, attributes in enumerate(events)]
        topic = TOPICS.action("handle")
        records = [Incoming(topic, 0, number, 0, None, body, []) for number, body in enumerate(bodies)]
        self.flow.take(self.assignment, Lane.NEW, records)

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not done():
                await self.happened.wait()
                self.happened.clear()


async def test_a_later_attempt_starts_from_the_event_as_it_came() -> None:
    running = Running()
    running.take([{"lines": ["a"], "attempts": 3}])
    await running.until(lambda: bool(running.results.outputs))
    assert running.results.outputs == [{"attempt": 3, "seen": ["a"], "mark": None}]
    assert running.crashes == []


async def test_what_a_handler_sets_in_its_context_is_not_seen_by_the_next() -> None:
    running = Running()
    running.take([{"lines": []}] * (3 * CONCURRENCY))
    await running.until(lambda: len(running.results.outputs) == 3 * CONCURRENCY)
    assert {output["mark"] for output in running.results.outputs} == {None}


async def test_records_that_end_together_cost_one_look_at_what_starts_next() -> None:
    running = Running()
    running.take([{"lines": []}] * (3 * CONCURRENCY))
    await running.until(lambda: len(running.results.outputs) == 3 * CONCURRENCY)
    assert running.updates <= 5, "not one for each record"


async def test_new_work_starts_once_it_is_known_that_what_is_parked_waits_for_people() -> None:
    """Until they are indexed they count as open; nothing else may happen then that would start it."""
    store = MemoryEntries()
    store.load(
        records(**{f"r{number}": parked(f"r{number}", approvals={"c": f"{number:032x}"}) for number in range(20_000)})
    )
    running = Running(store=store)
    running.flow.backlog._max_open = 10
    running.take([{"lines": []}])
    running.flow.indexing.begin_epoch(running.assignment, {})
    await asyncio.sleep(0)
    assert not store.is_indexed
    assert running.results.outputs == []
    await running.until(lambda: bool(running.results.outputs))
    assert store.is_indexed


class NoRegistry(EventCodec):
    def decode(self, data: bytes) -> bytes:
        raise RegistryUnavailableError("the schema registry does not answer")


async def test_what_no_record_is_to_blame_for_ends_the_process() -> None:
    running = Running(NoRegistry(CODEC.avro))
    running.take([{"lines": []}])
    await running.until(lambda: bool(running.crashes))
    assert isinstance(running.crashes[0], RegistryUnavailableError)
    assert running.results.added == []
