"""A cancellation against every state of its request: one end, in one transaction, with every record completed once."""

import json
import time

import pytest
from worker_harness import (
    SECRET,
    SETTINGS,
    TOKEN,
    TOPICS,
    Harness,
    ask,
    cancelled_response,
    completes,
    parked_chat,
    parks,
    to,
)

from parkway.schemas.events import CancelRequestEvent, Event, Token, ToolRequestEvent
from parkway.schemas.parked import ParkedCancellation, ParkedKind, ParkedRecord, parked_key, split_parked_key
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.tool import ToolAction
from parkway.workers.adoption import Carried
from parkway.workers.completion import Completion
from parkway.workers.effects import Effects, Task
from parkway.workers.entry_store import MakeStore
from parkway.workers.restore import _start_from
from parkway.workers.restored import Restored
from parkway.workers.work import Lane, Result


@pytest.fixture
def chat(make_store: MakeStore) -> Harness:
    return Harness(ChatAction({}), make_store=make_store)


def test_a_parked_request_ends_with_its_tombstone_and_its_tool_request(chat: Harness) -> None:
    parked_chat(chat)
    result = chat.cancel(request_id="r", reason="no more")
    assert result is not None
    assert "no more" in cancelled_response(result)["error"]["message"]
    assert [(one.key, one.value) for one in to(result, TOPICS.parked)] == [(b"r/chat", None)]
    tool_cancel = json.loads(to(result, TOPICS.events)[1].value or b"")
    assert tool_cancel["type"] == "_cancel_request_event"
    assert tool_cancel["attributes"] == {"request_id": "t1", "action": "tool"}
    assert completes(result) == {Lane.RESUME: {0}}
    assert result.ends == "r"


def test_a_first_call_that_runs_is_stopped_and_completes_with_the_cancellation_only(chat: Harness) -> None:
    work = chat.take(ask(user_context={"a": 1}), external="1")
    chat.decide(work)
    result = chat.cancel(request_id="r")
    assert result is not None
    assert chat.running == {}
    assert completes(result) == {Lane.NEW: {0}, Lane.RESUME: {0}}
    assert cancelled_response(result)["user_context"] == {"a": 1}
    assert [record.topic for record in result.records] == [TOPICS.outputs]  # it asked no tool, nothing was parked
    assert result.records[0].key == b"key"
    chat.commit(result)
    assert chat.partition.parked.open_requests == 0


def test_a_later_round_that_runs_is_stopped_and_its_tools_have_answered(chat: Harness) -> None:
    parked_chat(chat)
    response = chat.take(Event("_tool_response_event", {"request_id": "t1", "responses": {}}), Lane.RESUME)
    assert isinstance(chat.decide(response), Task)
    result = chat.cancel(request_id="r")
    assert result is not None
    cancelled_response(result)
    assert [(one.key, one.value) for one in to(result, TOPICS.parked)] == [(b"r/chat", None)]
    assert len(to(result, TOPICS.events)) == 1
    assert completes(result) == {Lane.RESUME: {0, 1}}


def test_a_finished_result_is_waited_out_and_what_it_parked_is_cancelled(chat: Harness) -> None:
    work = chat.take(ask())
    chat.decide(work)
    finished = chat.finish(work, parks())
    assert chat.cancel(request_id="r") is None  # it is in the committer's hands
    chat.begin(finished)
    assert chat.cancel(request_id="r") is None  # it is in a transaction
    chat.partition.parked.aborted("r")
    assert chat.cancel(request_id="r") is None  # it will be produced again
    chat.commit(finished)
    waiting = chat.partition.behind_commit.pop("r")
    assert len(waiting) == 3
    first, *others = (chat.decide(work) for work in waiting)
    assert isinstance(first, Result)
    cancelled_response(first)
    assert others == [None, None]  # the first one's result comes before them
    chat.commit(first)
    for work in waiting[1:]:
        ignored = chat.decide(work)
        assert isinstance(ignored, Result)
        assert ignored.records == []


def test_a_finished_answer_stands(chat: Harness) -> None:
    work = chat.take(ask())
    chat.decide(work)
    finished = chat.finish(work, Effects(response=Event("_chat_response_event", {"request_id": "r"})))
    assert chat.cancel(request_id="r") is None
    chat.commit(finished)
    (waiting,) = chat.partition.behind_commit.pop("r")
    ignored = chat.decide(waiting)
    assert isinstance(ignored, Result)
    assert (ignored.records, ignored.ends) == ([], None)


def test_a_tool_response_that_comes_with_the_cancellation_finds_nobody(chat: Harness) -> None:
    parked_chat(chat)
    result = chat.cancel(request_id="r")
    assert result is not None
    response = chat.take(Event("_tool_response_event", {"request_id": "t1", "responses": {}}), Lane.RESUME)
    ignored = chat.decide(response)
    assert isinstance(ignored, Result)
    assert ignored.records == []
    chat.begin(result)
    assert chat.decide(response) is None  # it waits for the outcome
    chat.partition.parked.committed("r")
    ended = chat.decide(response)
    assert isinstance(ended, Result)
    assert ended.records == []


def test_a_sweep_and_a_cancellation_give_one_end(chat: Harness) -> None:
    parked_chat(chat)
    entry = chat.partition.parked.claim("r")
    assert entry is not None
    parked = entry.record()
    swept = chat.builder.swept(chat.epoch, 0, "r", Task(parked.request, parked.deadline, parked))
    assert chat.cancel(request_id="r") is None
    tool_cancel = json.loads(to(swept, TOPICS.events)[1].value or b"")
    assert tool_cancel["attributes"] == {"request_id": "t1", "action": "tool"}
    chat.commit(swept)
    (waiting,) = chat.partition.behind_commit.pop("r")
    ignored = chat.decide(waiting)
    assert isinstance(ignored, Result)
    assert ignored.records == []


def test_a_request_that_comes_after_its_cancellation_ends_without_a_call(chat: Harness) -> None:
    remembered = chat.cancel(request_id="r", reason="early")
    assert remembered is not None
    (record,) = remembered.records
    assert record.topic == TOPICS.parked
    assert split_parked_key(record.key or b"") == ("r", "chat", ParkedKind.CANCELLED_ID)
    again = chat.cancel(request_id="r")
    assert again is not None
    assert again.records == []
    result = chat.decide(chat.take(ask()))
    assert isinstance(result, Result)
    assert "early" in cancelled_response(result)["error"]["message"]
    assert [(one.key, one.value) for one in to(result, TOPICS.parked)] == [(record.key, None)]
    assert completes(result) == {Lane.NEW: {0}}
    chat.commit(result)
    assert isinstance(chat.decide(chat.take(ask())), Task)  # the memory ended with it: a repeat is a new request


def test_what_is_remembered_survives_a_restart(chat: Harness) -> None:
    result = chat.cancel(request_id="r")
    assert result is not None
    (record,) = result.records
    lanes = {lane: Completion("topic-id", 0) for lane in Lane}
    remembered = {record.key or b"": ParkedCancellation.from_json(record.value or b"")}
    after = Harness(ChatAction({}), Restored(lanes, {}, 0, cancellations=remembered))
    ended = after.decide(after.take(ask()))
    assert isinstance(ended, Result)
    cancelled_response(ended)


def test_a_token_cancels_a_request_in_every_state(chat: Harness) -> None:
    early = chat.cancel(token=TOKEN)
    assert early is not None
    queued = chat.decide(chat.take(ask(), cancel_secret=SECRET))
    assert isinstance(queued, Result)
    cancelled_response(queued)
    chat.commit(queued)
    chat.decide(chat.take(ask(), cancel_secret=SECRET))
    running = chat.cancel(token=TOKEN)
    assert running is not None
    cancelled_response(running)
    chat.commit(running)
    parked_chat(chat, cancel_secret=SECRET)
    parked = chat.cancel(token=TOKEN)
    assert parked is not None
    cancelled_response(parked)
    chat.commit(parked)
    late = chat.cancel(token=TOKEN)
    assert late is not None
    assert late.records == []


def test_a_token_decides_alone(chat: Harness) -> None:
    """An outsider has a token of its own, and names another's request."""
    parked_chat(chat)
    result = chat.cancel(token=TOKEN, request_id="r")
    assert result is not None
    assert [split_parked_key(one.key or b"").subject for one in result.records] == [SECRET]
    assert result.ends is None
    assert not chat.partition.parked.is_claimed("r")


def test_the_token_of_a_parked_request_stays_the_same_over_its_rounds(chat: Harness) -> None:
    parked_chat(chat)
    entry = chat.partition.parked.entry("r")
    assert entry is not None
    token = ParkedRecord.from_json(entry.value).token
    assert token is not None
    response = chat.take(Event("_tool_response_event", {"request_id": "t1", "responses": {}}), Lane.RESUME)
    assert isinstance(chat.decide(response), Task)
    chat.commit(chat.finish(response, parks("t2", 2)))
    entry = chat.partition.parked.entry("r")
    assert entry is not None
    assert ParkedRecord.from_json(entry.value).token == token
    result = chat.cancel(token=token)
    assert result is not None
    cancelled_response(result)


def test_a_cancellation_is_not_remembered_beyond_its_time(chat: Harness) -> None:
    now = int(time.time() * 1000)
    late = chat.decide(chat.take(CancelRequestEvent(request_id="r"), Lane.RESUME, deadline=str(now - 1)))
    assert isinstance(late, Result)
    assert late.records == []
    far = chat.take(CancelRequestEvent(token=TOKEN), Lane.RESUME, deadline=str(now + 10**10), external="1")
    remembered = chat.decide(far)
    assert isinstance(remembered, Result)
    kept = ParkedCancellation.from_json(remembered.records[0].value or b"")
    assert kept.deadline <= time.time() * 1000 + SETTINGS.request_deadline * 1000
    assert list(chat.partition.remembered.overdue(kept.deadline)) == [remembered.records[0].key]


def test_how_much_is_remembered_is_bounded(chat: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parkway.workers.remembered.MOST", 2)
    results = [chat.cancel(token=str(Token.new("chat", 0))) for _ in range(3)]
    assert [len(result.records) for result in results if result is not None] == [1, 1, 0]


def test_tokens_that_outsiders_invent_do_not_crowd_out_those_who_cancel_by_id(
    chat: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parkway.workers.remembered.MOST", 2)
    results = [chat.cancel(token=str(Token.new("chat", 0))) for _ in range(3)]
    results.append(chat.cancel(request_id="r"))
    records = [record for result in results if result is not None for record in result.records]
    assert len(records) == 3
    lanes = {lane: Completion("topic-id", 0) for lane in Lane}
    remembered = {record.key or b"": ParkedCancellation.from_json(record.value or b"") for record in records}
    after = Harness(ChatAction({}), Restored(lanes, {}, 0, cancellations=remembered))
    by_token = after.cancel(token=str(Token.new("chat", 0)))
    assert by_token is not None
    assert by_token.records == []  # the bound holds over a restart
    ended = after.decide(after.take(ask()))
    assert isinstance(ended, Result)
    cancelled_response(ended)


def test_a_reason_takes_no_more_memory_than_a_sentence(chat: Harness) -> None:
    """From outside it may be as long as an event, 10,000 times in each partition."""
    result = chat.cancel(token=TOKEN, reason="x" * 900_000)
    assert result is not None
    assert len(result.records[0].value or b"") < 3_000
    queued = chat.decide(chat.take(ask(), cancel_secret=SECRET))
    assert isinstance(queued, Result)
    message = cancelled_response(queued)["error"]["message"]
    assert "xxx" in message
    assert len(message) < 1_000


def test_a_cancellation_that_cannot_be_read_is_dead_lettered(chat: Harness) -> None:
    for attributes in ({}, {"request_id": 7}, {"token": "nonsense"}, {"other": 1}):
        dead = chat.decide(chat.take(Event("_cancel_request_event", attributes), Lane.RESUME))
        assert isinstance(dead, Result)
        assert [record.topic for record in dead.records] == [TOPICS.dlq]


def test_a_tool_request_ends_without_a_response_and_its_calls_are_cancelled() -> None:
    tool = Harness(ToolAction({}))
    request = ToolRequestEvent(model="m", tool_calls=[], id="t1")
    task = tool.decide(tool.take(request))
    assert isinstance(task, Task)
    result = tool.cancel(request_id="t1", action="tool")
    assert result is not None
    assert result.records == []
    assert completes(result) == {Lane.NEW: {0}, Lane.RESUME: {0}}
    tool.commit(result)
    early = tool.cancel(request_id="t2")
    assert early is not None
    never = tool.decide(tool.take(ToolRequestEvent(model="m", tool_calls=[], id="t2")))
    assert isinstance(never, Result)
    assert [(one.key, one.value) for one in never.records] == [
        (parked_key("t2", "tool", ParkedKind.CANCELLED_ID), None)
    ]


def test_what_is_remembered_is_kept_over_a_rebalance_only_while_it_is_what_is_committed(chat: Harness) -> None:
    """Else it is read again: what was decided and not committed is taken, and decided, again."""
    result = chat.cancel(request_id="r")
    assert result is not None
    assert chat.partition.kept() is None
    (record,) = result.records
    remembered = {record.key or b"": ParkedCancellation.from_json(record.value or b"")}
    lanes = {lane: Completion("topic-id", 0) for lane in Lane}
    after = Harness(ChatAction({}), Restored(lanes, {}, 0, cancellations=remembered))
    kept = after.partition.kept()
    assert kept is not None
    restored = Restored({}, {}, 0)
    _start_from(restored, kept, kept.upto)
    assert restored.cancellations == remembered
    after.decide(after.take(ask()))
    assert after.partition.kept() is None


def test_what_a_cancellation_ended_is_carried_over_a_rebalance_with_the_record_it_stopped_or_not_at_all(
    chat: Harness,
) -> None:
    carried = Carried()
    chat.decide(chat.take(ask()))
    stopped = chat.cancel(request_id="r")
    early = chat.cancel(request_id="other")
    assert stopped is not None
    assert early is not None
    carried.carry_results([stopped, early])
    assert len(carried) == 0
    chat.commit(stopped)
    work = chat.take(ask())
    chat.decide(work)
    carried.carry_results([chat.finish(work, parks())])
    assert len(carried) == 1
