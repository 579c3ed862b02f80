"""Work on a partition whose restored entries are not indexed yet."""

import asyncio
from collections.abc import Sequence

import pytest
from parked_records import SECRET, entry, records
from worker_harness import TOPICS, Harness, ask, cancelled_response, to

from parkway.schemas.events import ApprovalResponseEvent, Token, ToolResponseEvent
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.tool import ToolAction
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.completion import Completion
from parkway.workers.effects import Action, Task
from parkway.workers.entry_store_memory import MemoryEntries
from parkway.workers.indexing import Indexing
from parkway.workers.restored import Restored
from parkway.workers.work import Lane, Result, Work

COUNT = 20_000  # more than one slice indexes


def harness(action: Action, **values: bytes | None) -> Harness:
    """`values` are parked, and many others."""
    store = MemoryEntries()
    others = {f"other-{number}": entry(f"other-{number}", f"waits-{number}").value for number in range(COUNT)}
    store.load(records(**others, **values))
    return Harness(action, Restored({lane: Completion("topic-id", 0) for lane in Lane}, {}, 0, store))


@pytest.fixture
def chat() -> Harness:
    return harness(ChatAction({}), r=entry("r", "t1", secret=SECRET).value, broken=b"broken")


class Run:
    """The indexing of a harness's partition."""

    def __init__(self, here: Harness) -> None:
        self.added: list[Result] = []
        self.gone_on: list[Work] = []
        self.crashes: list[BaseException] = []
        self.indexed = asyncio.Event()
        self.assignment = Assignment(here.epoch, {0: here.partition})
        self.indexing = Indexing(
            here.action.name,
            here.builder,
            add=self.added.append,
            go_on=self._go_on,
            crashed=self.crashes.append,
        )

    def _go_on(self, _: Partition, waiting: Sequence[Work]) -> None:
        self.gone_on.extend(waiting)
        self.indexed.set()

    async def end(self) -> None:
        async with asyncio.timeout(30):
            await self.indexed.wait()
        assert self.crashes == []


def response(here: Harness, tool_request: str, **headers: str) -> Work:
    return here.take(ToolResponseEvent(request_id=tool_request, responses={}, external_ids={}), Lane.RESUME, **headers)


async def test_a_response_that_names_its_request_resumes_it_at_once(chat: Harness) -> None:
    task = chat.decide(response(chat, "t1", parent="r/chat"))
    assert isinstance(task, Task)
    assert task.parked is not None
    assert task.parked.request_id == "r"
    assert not chat.partition.parked.is_indexed


@pytest.mark.parametrize("parent", [None, "r/another", "nobody/chat", "other-1/chat", "r", ""])
async def test_a_response_that_names_another_or_none_waits_until_all_are_indexed(
    chat: Harness, parent: str | None
) -> None:
    work = response(chat, "t1", **({"parent": parent} if parent is not None else {}))
    assert chat.decide(work) is None
    late = response(chat, "nobody's", parent="r/chat")
    assert chat.decide(late) is None
    run = Run(chat)
    run.indexing.begin_epoch(run.assignment, {})
    assert run.gone_on == [], "the loop has other things to do, too"
    await run.end()
    assert run.gone_on == [work, late]
    assert isinstance(chat.decide(work), Task)
    ignored = chat.decide(late)
    assert isinstance(ignored, Result)
    assert ignored.records == []


async def test_a_cancel_token_waits_and_an_id_does_not(chat: Harness) -> None:
    assert chat.cancel(token=str(Token("chat", 0, SECRET))) is None
    (work,) = chat.partition.behind_index
    by_id = chat.cancel(request_id="other-7")
    assert by_id is not None
    assert by_id.ends == "other-7"
    run = Run(chat)
    run.indexing.begin_epoch(run.assignment, {})
    await run.end()
    assert run.gone_on == [work]
    result = chat.decide(work)
    assert isinstance(result, Result)
    assert cancelled_response(result)["request_id"] == "r"


async def test_an_approval_finds_the_request_that_it_names() -> None:
    tools = harness(ToolAction({}), t1=entry("t1", "", approvals={"c": SECRET}).value)
    token = str(Token("tool", 0, SECRET))
    wrong = tools.take(ApprovalResponseEvent(request_id="other-3", token=token, approved=True), Lane.RESUME)
    assert tools.decide(wrong) is None
    right = tools.take(ApprovalResponseEvent(request_id="t1", token=token, approved=True), Lane.RESUME)
    assert isinstance(tools.decide(right), Task)
    run = Run(tools)
    run.indexing.begin_epoch(run.assignment, {})
    await run.end()
    assert run.gone_on == [wrong]


async def test_a_request_is_known_by_its_id(chat: Harness) -> None:
    repeat = chat.decide(chat.take(ask()))
    assert isinstance(repeat, Result)
    assert [one.topic for one in repeat.records] == [TOPICS.dlq], "another request under its id"


async def test_what_is_unreadable_is_dead_lettered_once_and_before_its_id_is_used_again(chat: Harness) -> None:
    run = Run(chat)
    work = chat.take(ask().model_copy(update={"id": "broken"}))
    assert isinstance(chat.decide(work), Task), "nobody knows what it was"
    run.indexing.looked(chat.epoch, chat.partition)
    run.indexing.begin_epoch(run.assignment, {})
    await run.end()
    (result,) = run.added
    assert [(one.key, one.value) for one in to(result, TOPICS.parked)] == [(b"broken/chat", None)]
    assert [one.value for one in to(result, TOPICS.dlq)] == [b"broken"]
    assert chat.partition.kept() is None, "its tombstone may never be written"


async def test_a_rebalance_leaves_the_rest_to_the_next_epoch(chat: Harness) -> None:
    run = Run(chat)
    run.indexing.begin_epoch(run.assignment, {})
    await asyncio.sleep(0)
    run.indexing.end_epoch()
    await asyncio.sleep(0)
    kept = chat.partition.kept()
    assert kept is not None
    assert not kept.entries.is_indexed
    assert len(kept.entries) == COUNT + 2
    kept.entries.index(60)
    assert kept.entries.waiting_for("t1") == "r"
