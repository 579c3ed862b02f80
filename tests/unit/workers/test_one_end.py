"""Every accepted request ends once: in one response, or in one dead letter. Repeated ids make no second end."""

import json

import pytest
from worker_harness import TOKEN, TOPICS, Harness, ask, cancelled_response, completes, parked_chat, parks, to

from parkway.schemas.errors import DlqReason
from parkway.schemas.events import ToolRequestEvent
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Task
from parkway.workers.entry_store import MakeStore
from parkway.workers.work import Lane, Result


@pytest.fixture
def chat(make_store: MakeStore) -> Harness:
    return Harness(ChatAction({}), make_store=make_store)


def reasons(result: Result) -> list[str]:
    return [dict(record.headers)["parkway-error-type"].decode() for record in to(result, TOPICS.dlq)]


def test_the_same_request_again_is_dropped_and_another_one_under_its_id_is_dead_lettered(chat: Harness) -> None:
    work = chat.take(ask())
    assert isinstance(chat.decide(work), Task)
    for state in ("in flight", "parked"):
        repeat = chat.decide(chat.take(ask()))
        assert isinstance(repeat, Result), state
        assert (repeat.records, repeat.ends) == ([], None), state
        for other in (chat.take(ask(user_context={"a": 1})), chat.take(ask(), reply_to="elsewhere")):
            conflict = chat.decide(other)
            assert isinstance(conflict, Result), state
            assert (reasons(conflict), conflict.ends) == (["duplicate_request_id"], None), state
            assert completes(conflict) == {Lane.NEW: {other.record.offset}}, state
        if state == "in flight":
            chat.commit(chat.finish(work, parks()))


def test_a_repeated_tool_request_runs_once() -> None:
    tool = Harness(ToolAction({}))
    request = ToolRequestEvent(model="m", tool_calls=[], id="t1")
    assert isinstance(tool.decide(tool.take(request)), Task)
    repeat = tool.decide(tool.take(request))
    assert isinstance(repeat, Result)
    assert repeat.records == []


def test_a_response_that_kafka_refuses_is_replaced_and_everything_of_the_request_still_ends(chat: Harness) -> None:
    early = chat.cancel(token=TOKEN)
    assert early is not None
    parked_chat(chat)
    result = chat.cancel(request_id="r")
    assert result is not None
    cancelled_response(result)
    assert chat.builder.undeliverable(result, "too large")
    response, tool_cancel = (json.loads(record.value or b"") for record in to(result, TOPICS.events))
    assert response["attributes"]["error"]["type"] == "internal"
    assert tool_cancel["attributes"]["request_id"] == "t1"
    assert [record.key for record in to(result, TOPICS.parked)] == [b"r/chat"]
    assert chat.builder.undeliverable(result, "too large")
    assert reasons(result) == ["undeliverable"]
    assert [(record.key, record.value) for record in to(result, TOPICS.parked)] == [(b"r/chat", None)]


def test_a_first_call_whose_cancelled_response_is_refused_is_dead_lettered_as_the_request(chat: Harness) -> None:
    work = chat.take(ask())
    chat.decide(work)
    result = chat.cancel(request_id="r")
    assert result is not None
    for _ in range(2):
        assert chat.builder.undeliverable(result, "too large")
    (dead,) = to(result, TOPICS.dlq)
    assert dead.value == work.record.value
    assert completes(result) == {Lane.NEW: {0}, Lane.RESUME: {0}}


def test_a_continuation_that_nobody_can_handle_ends_its_request_with_its_entry(chat: Harness) -> None:
    """A dead letter is an end, too: without the tombstone a restart would find the entry, and end it again."""
    work = parked_chat(chat)
    entry = chat.partition.parked.claim("r")
    assert entry is not None
    work.request_id = "r"
    dead = chat.builder.dead(work, DlqReason.INVALID_EVENT, "a bug")
    assert dead.ends == "r"
    assert [(record.key, record.value) for record in to(dead, TOPICS.parked)] == [(b"r/chat", None)]
