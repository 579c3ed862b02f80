"""A worker's decisions without Kafka: records in, results out, transactions as the test wants them."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from parkway.runtime.codec import EventCodec
from parkway.runtime.records import Incoming, Record
from parkway.runtime.settings import Settings
from parkway.schemas.avro import AvroCodec
from parkway.schemas.events import CancelRequestEvent, ChatRequestEvent, Event, Token, ToolRequestEvent
from parkway.schemas.plan import ActionPlan, Plan
from parkway.workers.assignment import Partition, completed_offsets
from parkway.workers.cancellations import Cancellations
from parkway.workers.completion import Completion
from parkway.workers.dispatch import Dispatcher
from parkway.workers.effects import Action, Effects, Park, Task
from parkway.workers.entry import Entry
from parkway.workers.entry_store import MakeStore
from parkway.workers.entry_store_memory import MemoryEntries
from parkway.workers.journal import Journal
from parkway.workers.restored import Restored
from parkway.workers.results import ResultBuilder
from parkway.workers.work import Epoch, Lane, Result, Work

SETTINGS = Settings(namespace="ns")
TOPICS = SETTINGS.topics
CODEC = EventCodec(AvroCodec())
PLAN = Plan(
    agent="test",
    build="b1",
    actions=(
        ActionPlan(
            name="chat",
            triggers=("_chat_request_event",),
            resumed_by=("_tool_response_event", "_cancel_request_event"),
            answers=("_chat_request_event",),
        ),
        ActionPlan(
            name="tool",
            triggers=("_tool_request_event",),
            resumed_by=("_cancel_request_event", "_approval_response_event"),
            answers=("_tool_request_event",),
        ),
    ),
)
SECRET = "0123456789abcdef" * 2
TOKEN = str(Token("chat", 0, SECRET))


class Harness:
    """One partition of one action: what a worker does with records, without Kafka. Handlers run until they are told."""

    def __init__(self, action: Action, restored: Restored | None = None, make_store: MakeStore = MemoryEntries) -> None:
        self.action = action
        planned = PLAN.action(action.name)
        assert planned is not None
        self.builder = ResultBuilder(SETTINGS, PLAN, action, CODEC, Journal(planned, PLAN.build))
        self.epoch = Epoch(1, None)
        lanes = {lane: Completion("topic-id", 0) for lane in Lane}
        self.partition = Partition(0, restored or Restored(lanes, {}, 0, make_store()), action.name, TOPICS)
        self.running: dict[Work, Task] = {}
        cancellations = Cancellations(SETTINGS, action.name, PLAN.build, self.builder, self.stop)
        self.dispatcher = Dispatcher(SETTINGS, planned, action, self.builder, CODEC, cancellations)
        self.offsets = dict.fromkeys(Lane, 0)

    def stop(self, _partition: Partition, request_id: str) -> Work | None:
        for work in self.running:
            if work.request_id == request_id:
                del self.running[work]
                return work
        return None

    def take(self, event: Event, lane: Lane = Lane.NEW, **headers: str) -> Work:
        offset = self.offsets[lane]
        self.offsets[lane] += 1
        self.partition.completion(lane).take(offset)
        topic = TOPICS.action(self.action.name) if lane is Lane.NEW else TOPICS.resume(self.action.name)
        given = [("parkway-type", event.type), *((f"parkway-{name}", value) for name, value in headers.items())]
        encoded = [(name.replace("_", "-"), value.encode()) for name, value in given]
        return Work(self.epoch, lane, Incoming(topic, 0, offset, 0, b"key", event.to_json(), encoded))

    def decide(self, work: Work) -> Task | Result | None:
        decision = self.dispatcher.decide(self.partition, work)
        if isinstance(decision, Task):
            self.running[work] = decision
        return decision

    def cancel(self, **attributes: Any) -> Result | None:
        decision = self.decide(self.take(CancelRequestEvent(**attributes), Lane.RESUME))
        assert not isinstance(decision, Task)
        return decision

    def finish(self, work: Work, effects: Effects) -> Result:
        return self.builder.handled(work, self.running.pop(work), effects)

    def begin(self, result: Result) -> None:
        for request_id, entry in changes(result):
            self.partition.parked.begin(request_id, entry)

    def commit(self, result: Result) -> None:
        self.begin(result)
        for request_id, _ in changes(result):
            self.partition.parked.committed(request_id)


def changes(result: Result) -> Iterator[tuple[str, Entry | None]]:
    if result.upsert is not None:
        yield result.upsert
    elif result.ends is not None:
        yield result.ends, None


def ask(**changes: Any) -> ChatRequestEvent:
    return ChatRequestEvent(model="m", messages=[{"role": "user", "content": "hi"}], id="r", **changes)


def parks(waits_for: str = "t1", round_: int = 1) -> Effects:
    deadline = int((time.time() + 60) * 1000)
    tools = ToolRequestEvent(model="m", tool_calls=[], id=waits_for)
    return Effects(events=[tools], park=Park(waits_for, ("c1",), {"deadline": deadline}, round_, deadline))


def completes(result: Result) -> dict[Lane, set[int]]:
    return completed_offsets([result])[0]


def to(result: Result, topic: str) -> list[Record]:
    return [record for record in result.records if record.topic == topic]


def cancelled_response(result: Result) -> Mapping[str, Any]:
    (record,) = to(result, TOPICS.events)[:1] or to(result, TOPICS.outputs)
    body = json.loads(record.value or b"")
    assert body["type"] == "_chat_response_event"
    assert body["attributes"]["error"]["type"] == "cancelled"
    assert body["attributes"]["request_id"] == "r"
    return dict(body["attributes"])


def parked_chat(chat: Harness, **headers: str) -> Work:
    work = chat.take(ask(), **headers)
    assert isinstance(chat.decide(work), Task)
    chat.commit(chat.finish(work, parks()))
    return work
