"""The tool action and people: what waits, what runs meanwhile, and what each answer does."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from parkway.agents import Tool, ToolContext, tool
from parkway.schemas.events import (
    ApprovalResponseEvent,
    FunctionCall,
    ToolCall,
    ToolRequestEvent,
    ToolResponseEvent,
)
from parkway.schemas.parked import Origin, ParkedApproval, ParkedRecord
from parkway.schemas.tokens import Token
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Effects, PoisonError, Task
from parkway.workers.times import now_ms

paid: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_is_paid() -> None:
    paid.clear()


@tool(requires_approval=lambda args: f"{args['amount']} is much" if args["amount"] > 100 else False)
async def pay(amount: int, ctx: ToolContext) -> str:
    """Pays."""
    paid.append(ctx.idempotency_key)
    return f"paid {amount} for {ctx.tenant}"


@tool(requires_approval=True, approval_timeout=5)
def erase(name: str) -> str:
    """Erases."""
    return f"erased {name}"


@tool
async def look(name: str) -> str:
    """Looks."""
    return f"saw {name}"


def call(tool_name: str, call_id: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=tool_name, arguments=arguments), original_id=f"p-{call_id}")


def action(*tools: Tool[..., Any], **options: Any) -> ToolAction:
    return ToolAction({each.name: each for each in tools or (pay, erase, look)}, **options)


def new(*calls: ToolCall, seconds: float = 1000.0) -> Task:
    request = ToolRequestEvent(model="m", tool_calls=list(calls), id="t1")
    return Task(request.to_dict(), int((time.time() + seconds) * 1000), record_headers=[("parkway-tenant", b"acme")])


def parked(task: Task, effects: Effects) -> ParkedRecord:
    """What the machinery makes of it."""
    park = effects.park
    assert park is not None
    assert park.awaits_person
    approvals = {
        ask.call.id: ParkedApproval(token=str(Token.new("tool", 0)), reason=ask.reason, asked_at=now_ms())
        for ask in park.asks
    }
    return ParkedRecord(
        build="b",
        action="tool",
        record_key=None,
        origin=Origin(topic="t", partition=0, offset=0, headers={"parkway-tenant": "acme"}),
        request=dict(task.parked.request if task.parked is not None else task.event),
        request_hash="h",
        round=park.round,
        waits_for=park.waits_for,
        pending_calls=park.pending_calls,
        deadline=park.deadline,
        state=dict(park.state),
        approvals={**park.approvals, **approvals},
        awaits_person=park.awaits_person,
    )


def answer(record: ParkedRecord, call_id: str, *, approved: bool, reason: str | None = None) -> Task:
    event = ApprovalResponseEvent(
        request_id="t1", token=record.approvals[call_id].token, approved=approved, reason=reason
    )
    return Task(event.to_dict(), record.deadline, record)


def response_of(effects: Effects) -> ToolResponseEvent:
    assert isinstance(effects.response, ToolResponseEvent)
    assert effects.park is None
    return effects.response


def journal_of(effects: Effects) -> list[tuple[str, str, str | None, str]]:
    return [(entry.kind, entry.name, entry.call_id, entry.outcome) for entry in effects.journal]


async def test_calls_that_need_nobody_run_at_once_and_their_results_wait_with_the_others() -> None:
    runner = action()
    calls = (call("pay", "a", amount=500), call("look", "b", name="x"), call("pay", "c", amount=5))
    task = new(*calls)
    effects = await runner.handle(task)
    assert paid == ["t1/c"]
    assert effects.response is None
    assert effects.events == []
    assert [(ask.call.id, ask.reason) for ask in effects.park.asks] == [("a", "500 is much")]
    assert journal_of(effects) == [("tool_call", "look", "b", "success"), ("tool_call", "pay", "c", "success")]
    record = parked(task, effects)
    done = await runner.handle(answer(record, "a", approved=True))
    assert paid == ["t1/c", "t1/a"]
    response = response_of(done)
    assert response.request_id == "t1"
    assert response.responses == {"a": "paid 500 for acme", "b": "saw x", "c": "paid 5 for acme"}
    assert list(response.responses) == ["a", "b", "c"]
    assert response.success == {"a": True, "b": True, "c": True}
    assert response.external_ids == {"a": "p-a", "b": "p-b", "c": "p-c"}
    assert journal_of(done) == [("approval", "pay", "a", "approved"), ("tool_call", "pay", "a", "success")]


async def test_a_denied_call_does_not_run_and_the_model_is_told_why() -> None:
    runner, task = action(), new(call("pay", "a", amount=500), call("pay", "b", amount=600))
    record = parked(task, await runner.handle(task))
    first = await runner.handle(answer(record, "b", approved=False, reason="too much"))
    assert first.response is None
    assert first.park.asks == ()
    assert first.park.approvals == {"a": record.approvals["a"]}  # its person has the token already
    assert first.park.pending_calls == ("a",)
    assert first.park.deadline == record.deadline
    second = parked(replace(task, parked=record), first)
    assert second.round == 2
    response = response_of(await runner.handle(answer(second, "a", approved=False)))
    assert response.responses == {"a": "Tool `pay` was denied.", "b": "Tool `pay` was denied: too much"}
    assert response.success == {"a": False, "b": False}
    assert set(response.error) == {"a", "b"}
    assert paid == []


async def test_what_cannot_run_at_all_bothers_nobody() -> None:
    response = response_of(await action().handle(new(call("pay", "a", amount="lots"), call("nothing", "b"))))
    assert response.success == {"a": False, "b": False}
    assert "amount" in response.responses["a"]
    assert response.responses["b"] == "Tool `nothing` does not exist."


def _exits(arguments: Mapping[str, Any]) -> bool:
    raise SystemExit(3)


def _changes(arguments: Any) -> bool:
    arguments["name"]["first"] = "somebody else"
    return True


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (_exits, "requires_approval raised SystemExit"),
        (_changes, None),
        (lambda _: "caf\udce9", "caf?"),
        (lambda _: "much " * 1_000_000, ("much " * 1_000_000)[:2_000]),
    ],
)
async def test_a_condition_does_no_harm_whatever_it_does(condition: Any, reason: str | None) -> None:
    @tool(requires_approval=condition)
    async def greet(name: dict[str, str]) -> str:
        """Greets."""
        return name["first"]

    task = new(call("greet", "a", name={"first": "Ada"}), call("look", "b", name="x"))
    runner = action(greet, look)
    effects = await runner.handle(task)
    assert [ask.reason for ask in effects.park.asks] == [reason]
    assert [ask.call.function.arguments for ask in effects.park.asks] == [{"name": {"first": "Ada"}}]
    response = response_of(await runner.handle(answer(parked(task, effects), "a", approved=True)))
    assert response.responses == {"a": "Ada", "b": "saw x"}


async def test_approvals_expire_early_enough_for_the_chat_to_hear_of_it() -> None:
    runner = action()
    for seconds, left in ((1000.0, 60.0), (100.0, 10.0)):
        task = new(call("pay", "a", amount=500), seconds=seconds)
        effects = await runner.handle(task)
        assert task.deadline - effects.park.deadline == pytest.approx(left * 1000, abs=100)
    task = new(call("pay", "a", amount=500), call("erase", "b", name="x"))
    effects = await runner.handle(task)
    assert effects.park.deadline == pytest.approx(now_ms() + 5000, abs=1000)  # the shortest one counts for both
    record = parked(task, effects)
    response = response_of(runner.expired(Task(record.request, record.deadline, record)))
    assert response.responses == {
        "a": "Tool `pay` was denied: nobody answered in time",
        "b": "Tool `erase` was denied: nobody answered in time",
    }
    late = record.model_copy(update={"deadline": now_ms() - 1})
    effects = await runner.handle(answer(late, "a", approved=True))  # before the sweep came
    assert response_of(effects).success == {"a": False, "b": False}
    assert journal_of(effects) == [("approval", "pay", "a", "denied"), ("approval", "erase", "b", "denied")]
    assert paid == []


async def test_a_cancelled_request_says_nothing_and_a_failed_one_keeps_the_results_that_it_has() -> None:
    runner, task = action(), new(call("pay", "a", amount=500), call("look", "b", name="x"))
    record = parked(task, await runner.handle(task))
    there = Task(record.request, record.deadline, record)
    assert runner.cancelled(there, "enough") == Effects()
    response = response_of(runner.failed(answer(record, "a", approved=True), PoisonError("it died")))
    assert response.responses == {"a": "Tool `pay` execute failed.", "b": "saw x"}


async def test_results_that_are_too_large_to_wait_are_sent_at_once() -> None:
    runner = action(max_state_bytes=2_000)
    calls = (call("pay", "a", amount=500), call("look", "b", name="x" * 1_000))
    response = response_of(await runner.handle(new(*calls)))
    assert response.success == {"a": False, "b": True}
    assert response.error["a"] == "no room to wait for a person"


async def test_a_limit_of_its_own_for_the_result() -> None:
    @tool(max_result_bytes=10)
    def long() -> str:
        """Long."""
        return "x" * 100

    response = response_of(await action(long).handle(new(call("long", "a"))))
    assert response.responses["a"].startswith("xxxxxxxxxx\n[cut: the result has 100 bytes")


async def test_the_journal_holds_arguments_and_reasons_as_content() -> None:
    runner, task = action(), new(call("pay", "a", amount=500))
    record = parked(task, await runner.handle(task))
    done = await runner.handle(answer(record, "a", approved=False, reason="no"))
    (entry,) = done.journal
    content: Mapping[str, Any] = entry.content
    assert content == {"arguments": {"amount": 500}, "asked_because": "500 is much", "reason": "no"}
    assert entry.started_at == record.approvals["a"].asked_at <= entry.ended_at
