"""Parked records for tests of the index and its stores."""

from collections.abc import Mapping

from parkway.schemas.parked import Origin, ParkedApproval, ParkedRecord
from parkway.schemas.tokens import Token
from parkway.workers.entry import Entry

SECRET = "0" * 31 + "1"


def entry(
    request_id: str = "r",
    waits_for: str = "t1",
    deadline: int = 1_000,
    *,
    secret: str | None = None,
    size: int = 0,
    offset: int = 7,
    approvals: Mapping[str, str] | None = None,
) -> Entry:
    """Of a request whose record stands at `ns.action.chat/0/offset`; at least `size` bytes.

    `approvals`: the secrets of the calls that wait for a person.
    """
    asked = {
        call_id: ParkedApproval(token=str(Token("chat", 0, one)), asked_at=1)
        for call_id, one in (approvals or {}).items()
    }
    record = ParkedRecord(
        build="b",
        action="chat",
        record_key=None,
        origin=Origin(topic="ns.action.chat", partition=0, offset=offset),
        request={"id": request_id},
        request_hash="hash",
        round=1,
        waits_for=waits_for,
        deadline=deadline,
        state={"text": "x" * size},
        token=str(Token("chat", 0, secret)) if secret is not None else None,
        approvals=asked,
        awaits_person=bool(asked),
    )
    return Entry.of(record, record.to_json())
