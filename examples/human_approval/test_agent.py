"""The agent in memory, with the real router and actions: `pytest examples/human_approval`."""

from collections.abc import AsyncIterator

import pytest
from examples.human_approval.agent import RefundDesk

from parkway.agents import ApprovalRequestEvent, ApprovalResponseEvent
from parkway.testing import AgentTest


@pytest.fixture
async def test(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AgentTest]:
    monkeypatch.delenv("PARKWAY_MODEL", raising=False)
    async with AgentTest(RefundDesk) as test:
        yield test


async def complain(test: AgentTest, order: str) -> None:
    await test.send({"type": "complaint", "attributes": {"order": order, "text": "It is broken."}}, key=order)
    await test.run()


def answers(test: AgentTest) -> list[str]:
    return [output["answer"] for output in test.outputs if "answer" in output]


def waiting(test: AgentTest) -> ApprovalRequestEvent:
    (event,) = [event for event in test.events if isinstance(event, ApprovalRequestEvent)]
    return event


async def decide(test: AgentTest, asked: ApprovalRequestEvent, *, approved: bool, reason: str | None = None) -> None:
    await test.send(
        ApprovalResponseEvent(request_id=asked.request_id, token=asked.token, approved=approved, reason=reason)
    )
    await test.run()


async def test_a_small_refund_is_paid_at_once(test: AgentTest) -> None:
    await complain(test, "A-1")
    (answer,) = answers(test)
    assert answer.startswith("Order A-1: refunded 20 for A-1")


async def test_a_large_one_waits_and_is_paid_when_it_is_approved(test: AgentTest) -> None:
    await complain(test, "B-2")
    assert answers(test) == []
    asked = waiting(test)
    assert (asked.call.function.name, asked.reason) == ("refund", "more than 100")
    assert {"decide": f"parkway approvals approve {asked.call.id}", "why": "more than 100"} in test.outputs
    await decide(test, asked, approved=True)
    (answer,) = answers(test)
    assert answer.startswith("Order B-2: refunded 250 for B-2")
    assert test.parked == []


async def test_a_denied_one_is_told_to_the_model(test: AgentTest) -> None:
    await complain(test, "B-2")
    await decide(test, waiting(test), approved=False, reason="B-2 was delivered")
    assert answers(test) == ["Order B-2: Tool `refund` was denied: B-2 was delivered"]


async def test_nobody_answers(test: AgentTest) -> None:
    await complain(test, "B-2")
    test.clock.advance(minutes=6)
    await test.run()
    assert answers(test) == ["Order B-2: Tool `refund` was denied: nobody answered in time"]
    assert test.parked == []
