"""An approval against every state of its tool request: each call is decided once, and nothing is lost."""

import json
import time
from typing import Any

import pytest
from worker_harness import TOPICS, Harness, completes, to

from parkway.agents import tool
from parkway.runtime import metrics
from parkway.schemas.events import ApprovalResponseEvent, Event, Token, ToolCall, ToolRequestEvent
from parkway.schemas.parked import ParkedRecord
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Task
from parkway.workers.entry_store import MakeStore
from parkway.workers.work import Lane, Result, Work


@tool(requires_approval="it is for good")
async def erase(name: str) -> str:
    """Erases."""
    return f"erased {name}"


@pytest.fixture
def tools(make_store: MakeStore) -> Harness:
    return Harness(ToolAction({"erase": erase}), make_store=make_store)


def request(*names: str) -> ToolRequestEvent:
    calls = [{"id": name, "function": {"name": "erase", "arguments": {"name": name}}} for name in names]
    return ToolRequestEvent(model="m", tool_calls=[ToolCall.model_validate(call) for call in calls], id="t1")


async def park(tools: Harness, *names: str) -> ParkedRecord:
    tools.commit(await parking(tools, *names))
    return record_of(tools)


async def parking(tools: Harness, *names: str) -> Result:
    deadline = str(int((time.time() + 100) * 1000))
    work = tools.take(request(*names), deadline=deadline, parent="r/chat", root_id="root")
    task = tools.decide(work)
    assert isinstance(task, Task)
    return tools.finish(work, await tools.action.handle(task))


def record_of(tools: Harness) -> ParkedRecord:
    entry = tools.partition.parked.entry("t1")
    assert entry is not None
    return entry.record()


def says(tools: Harness, token: str, *, approved: bool = True, request_id: str = "t1") -> Work:
    return tools.take(ApprovalResponseEvent(request_id=request_id, token=token, approved=approved), Lane.RESUME)


async def run(tools: Harness, work: Work) -> Result:
    task = tools.decide(work)
    assert isinstance(task, Task)
    return tools.finish(work, await tools.action.handle(task))


def response_of(result: Result) -> dict[str, Any]:
    (record,) = to(result, TOPICS.events)
    body = json.loads(record.value or b"")
    assert body["type"] == "_tool_response_event"
    return dict(body["attributes"]["responses"])


def ignored(tools: Harness, work: Work, why: str) -> bool:
    count = metrics.IGNORED.labels("tool", why)._value
    before = count.get()
    result = tools.decide(work)
    return isinstance(result, Result) and result.records == [] and count.get() == before + 1


async def test_everybody_who_may_decide_is_asked_with_a_token_of_each_calls_own(tools: Harness) -> None:
    result = await parking(tools, "a", "b")
    tools.commit(result)
    parked = record_of(tools)
    outside, inside = to(result, TOPICS.outputs), to(result, TOPICS.events)
    assert [one.value for one in outside] == [one.value for one in inside]
    assert len(outside) == 2
    for record, call_id in zip(outside, ("a", "b"), strict=True):
        event = json.loads(record.value or b"")
        assert event["type"] == "_approval_request_event"
        assert event["upstreamEventId"] == "t1"
        assert event["attributes"]["request_id"] == "t1"
        assert event["attributes"]["call"]["function"]["arguments"] == {"name": call_id}
        assert event["attributes"]["reason"] == "it is for good"
        assert event["attributes"]["token"] == parked.approvals[call_id].token
        given = dict(record.headers)
        assert given["parkway-deadline"] == str(parked.deadline)
        assert given["parkway-root-id"] == "root"
        assert (record.key, record.partition) == (b"key", 0)
    tokens = {Token.parse(one.token).secret for one in parked.approvals.values()}
    assert len(tokens) == 2
    assert Token.parse(str(parked.token)).secret not in tokens
    assert completes(result) == {Lane.NEW: {0}}
    assert (tools.partition.parked.open_requests, tools.partition.parked.awaiting_person) == (0, 1)


async def test_an_approved_call_runs_and_the_response_goes_out_with_the_tombstone(tools: Harness) -> None:
    parked = await park(tools, "a")
    result = await run(tools, says(tools, parked.approvals["a"].token))
    assert response_of(result) == {"a": "erased a"}
    assert [(one.key, one.value) for one in to(result, TOPICS.parked)] == [(b"t1/tool", None)]
    assert dict(to(result, TOPICS.events)[0].headers)["parkway-parent"] == "r/chat"
    kinds = [json.loads(one.value or b"")["kind"] for one in to(result, TOPICS.journal)]
    assert kinds == ["approval", "tool_call"]
    assert json.loads(to(result, TOPICS.journal)[0].value or b"")["request_id"] == "r"
    tools.commit(result)
    assert ignored(tools, says(tools, parked.approvals["a"].token), "unknown_approval"), "used once"


async def test_a_second_answer_waits_for_the_first_and_then_counts_for_nothing(tools: Harness) -> None:
    parked = await park(tools, "a", "b")
    first, again = (says(tools, parked.approvals["a"].token, approved=yes) for yes in (True, False))
    other = says(tools, parked.approvals["b"].token, approved=False)
    task = tools.decide(first)
    assert isinstance(task, Task)
    assert tools.decide(again) is None
    assert tools.decide(other) is None
    result = tools.finish(first, await tools.action.handle(task))
    tools.begin(result)
    late = says(tools, parked.approvals["a"].token)
    assert tools.decide(late) is None
    assert tools.partition.behind_commit == {"t1": [again, other, late]}
    tools.commit(result)
    assert to(result, TOPICS.outputs) == [], "nobody is asked twice"
    assert ignored(tools, again, "unknown_approval")
    done = await run(tools, other)
    assert response_of(done) == {"a": "erased a", "b": "Tool `erase` was denied."}


async def test_an_answer_that_is_faster_than_the_commit_call_waits_for_it(tools: Harness) -> None:
    result = await parking(tools, "a")
    tools.begin(result)
    token = json.loads(to(result, TOPICS.outputs)[0].value or b"")["attributes"]["token"]
    work = says(tools, token)
    assert tools.decide(work) is None
    tools.partition.parked.committed("t1")
    assert response_of(await run(tools, work)) == {"a": "erased a"}


async def test_an_abort_withdraws_the_question(tools: Harness) -> None:
    result = await parking(tools, "a")
    tools.begin(result)
    token = json.loads(to(result, TOPICS.outputs)[0].value or b"")["attributes"]["token"]
    tools.partition.parked.aborted("t1")
    assert ignored(tools, says(tools, token), "unknown_approval")
    tools.commit(result)  # the same records, produced again
    assert isinstance(tools.decide(says(tools, token)), Task)


async def test_wrong_tokens_do_nothing(tools: Harness) -> None:
    parked = await park(tools, "a")
    secret = Token.parse(parked.approvals["a"].token).secret
    assert ignored(tools, says(tools, str(Token.new("tool", 0))), "unknown_approval")
    assert ignored(tools, says(tools, str(Token("tool", 1, secret))), "unknown_approval")
    assert ignored(tools, says(tools, str(parked.token)), "unknown_approval"), "it cancels, and approves nothing"
    wrong_request = says(tools, parked.approvals["a"].token, request_id="t2")
    assert ignored(tools, wrong_request, "approval_of_another_request")
    broken = Event.parse(
        {
            "type": "_approval_response_event",
            "id": "x",
            "attributes": {"request_id": "t1", "token": parked.approvals["a"].token, "approved": True},
        }
    )
    work = tools.take(broken, Lane.RESUME)
    work.record.value = (work.record.value or b"").replace(b"true", b'"perhaps"')
    dead = tools.decide(work)
    assert isinstance(dead, Result)
    assert [dict(one.headers)["parkway-error-type"] for one in dead.records] == [b"bad_request"]
    assert response_of(await run(tools, says(tools, parked.approvals["a"].token))) == {"a": "erased a"}


async def test_the_sweep_denies_what_nobody_has_decided(tools: Harness) -> None:
    parked = await park(tools, "a")
    index = tools.partition.parked
    assert index.overdue(parked.deadline + 200, 10) == ["t1"]
    entry = index.claim("t1")
    assert entry is not None
    task = Task(parked.request, parked.deadline, parked)
    result = tools.builder.swept(tools.epoch, 0, "t1", task)
    assert response_of(result) == {"a": "Tool `erase` was denied: nobody answered in time"}
    assert tools.decide(says(tools, parked.approvals["a"].token)) is None, "it races the sweep, and waits"
    tools.commit(result)
    (waiting,) = tools.partition.behind_commit["t1"]
    assert ignored(tools, waiting, "unknown_approval")


async def test_an_approval_that_is_first_keeps_the_sweep_away(tools: Harness) -> None:
    parked = await park(tools, "a")
    work = says(tools, parked.approvals["a"].token)
    task = tools.decide(work)
    assert isinstance(task, Task)
    assert tools.partition.parked.overdue(parked.deadline + 1, 10) == []
    assert response_of(tools.finish(work, await tools.action.handle(task))) == {"a": "erased a"}


@pytest.mark.parametrize("running", [False, True])
async def test_a_cancellation_ends_it_without_a_response_whether_a_call_runs_or_not(
    tools: Harness, running: bool
) -> None:
    parked = await park(tools, "a", "b")
    work = says(tools, parked.approvals["a"].token)
    if running:
        assert isinstance(tools.decide(work), Task)
    result = tools.cancel(request_id="t1", action="tool")
    assert result is not None
    assert to(result, TOPICS.events) == []
    assert [(one.key, one.value) for one in to(result, TOPICS.parked)] == [(b"t1/tool", None)]
    assert tools.running == {}
    tools.commit(result)
    assert ignored(tools, says(tools, parked.approvals["b"].token), "unknown_approval")
