"""`parkway_stack`: what users test their agents with."""

from collections.abc import Callable

import pytest

from parkway.agents import ChatMessage, ChatRequestEvent, ChatResponseEvent
from parkway.testing.stack import Stack, StackError

Start = Callable[..., Stack]


def test_outputs_and_dead_letters_come_by_the_event_that_caused_them(parkway_stack: Start) -> None:
    orders = parkway_stack("agents:Orders")
    sent = [orders.send("order", {"number": number}, key=f"k{number}") for number in range(3)]
    assert [orders.output_of(one)["number"] for one in sent] == [0, 1, 2]
    broken = orders.send("broken", {})
    dead = orders.dead_of(broken)
    assert dead.type == "action_failed"
    assert "secret" in dead.message
    with pytest.raises(StackError, match="is in the DLQ: action_failed"):
        orders.output_of(broken)
    refused = orders.send("never-heard-of", {})
    assert orders.dead_of(refused).type == "forbidden_type"
    assert len(orders.outputs()) == 3


def test_a_worker_that_is_killed_answers_all_the_same(parkway_stack: Start) -> None:
    chats = parkway_stack("agents:Replies", workers=2, environment={"TEST_TOOL_SECONDS": "1"})
    asked = [chats.send(_question(number), key=f"k{number}") for number in range(6)]
    chats.kill_worker(0)
    answers = [chats.response_to(request, seconds=60) for request in asked]
    assert all(isinstance(answer, ChatResponseEvent) and answer.success for answer in answers)
    assert len(chats.outputs()) == 6


def test_a_process_that_ends_is_named(parkway_stack: Start) -> None:
    orders = parkway_stack("agents:Orders", environment={"PARKWAY_CONCURRENCY": "none"})
    sent = orders.send("order", {"number": 1})
    with pytest.raises(StackError, match=r"(?s)ended with exit code 2.*PARKWAY_CONCURRENCY"):
        orders.output_of(sent)


def _question(number: int) -> ChatRequestEvent:
    return ChatRequestEvent(model="assistant", messages=[ChatMessage.user(f"1 rounds for {number}")])
