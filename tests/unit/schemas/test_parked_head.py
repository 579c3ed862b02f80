"""The head of a parked record says what the record says, and refuses what the record refuses."""

import json
from typing import Any

import pytest

from parkway.schemas.parked import Origin, ParkedError, ParkedRecord
from parkway.schemas.parked_head import ParkedHead, read_head

RECORD = ParkedRecord(
    build="b",
    action="chat",
    record_key="a2V5",
    origin=Origin(topic="ns.action.chat", partition=3, offset=7, headers={"traceparent": "00-1"}, reply_to="r"),
    request={"id": "r1", "type": "_chat_request_event", "attributes": {"waits_for": "a trap", "deadline": 1}},
    request_hash="h",
    round=2,
    waits_for="t1",
    pending_calls=("c1", "c2"),
    deadline=123,
    token="chat.3." + "0123456789abcdef" * 2,
    state={"waits_for": "another trap", "messages": [{"content": "hi"}]},
)


def changed(**members: Any) -> bytes:
    return json.dumps({**json.loads(RECORD.to_json()), **members}).encode()


def test_a_head_holds_what_the_record_holds() -> None:
    head = read_head(RECORD.to_json())
    assert isinstance(head, ParkedHead)
    for name in (
        "request_id",
        "waits_for",
        "deadline",
        "request_hash",
        "pending_calls",
        "round",
        "action",
        "record_key",
        "token",
    ):
        assert getattr(head, name) == getattr(RECORD, name), name
    place = (head.origin.topic, head.origin.partition, head.origin.offset)
    assert place == (RECORD.origin.topic, RECORD.origin.partition, RECORD.origin.offset)


def test_a_head_knows_the_tokens_of_approvals() -> None:
    token = "tool.3." + "fedcba9876543210" * 2
    data = changed(approvals={"c1": {"token": token, "reason": "much", "asked_at": 5}}, awaits_person=True)
    head = read_head(data)
    assert {call_id: one.token for call_id, one in head.approvals.items()} == {"c1": token}
    assert head.awaits_person
    assert ParkedHead.of(ParkedRecord.from_json(data)) == head


def test_members_of_later_builds_and_no_key_are_fine() -> None:
    assert isinstance(read_head(changed(something_new=[1], record_key=None)), ParkedHead)


@pytest.mark.parametrize(
    "members",
    [
        {"v": 2},
        {"kind": "other"},
        {"deadline": "soon"},
        {"round": 0},
        {"record_key": "no base64!"},
        {"request": {}},
        {"origin": {"topic": "t"}},
        {"waits_for": None},
        {"pending_calls": [1]},
        {"token": "chat.1.short"},
        {"approvals": {"c1": {"token": "tool.1.short", "asked_at": 1}}},
        {"approvals": ["c1"]},
        {"awaits_person": "perhaps"},
    ],
)
def test_what_the_record_refuses_the_head_refuses_with_the_records_words(members: dict[str, Any]) -> None:
    data = changed(**members)
    with pytest.raises(ParkedError) as of_record:
        ParkedRecord.from_json(data)
    with pytest.raises(ParkedError) as of_head:
        read_head(data)
    assert str(of_head.value) == str(of_record.value)


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"\xff", RECORD.to_json()[:-1]])
def test_broken_bytes_are_a_parked_error(data: bytes) -> None:
    with pytest.raises(ParkedError):
        read_head(data)
