"""Parked records for tests of the index and its stores."""

from collections.abc import Mapping
from typing import Any, cast

from confluent_kafka import Message

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


class Read:
    """A message as a restore reads it."""

    def __init__(self, key: bytes, value: bytes | None, offset: int = 7) -> None:
        self._key, self._value, self._offset = key, value, offset

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def offset(self) -> int:
        return self._offset


def records(**values: bytes | None) -> dict[bytes, Message]:
    """As a restore hands them to a store: by request id."""
    return {name.encode(): cast("Message", Read(f"{name}/chat".encode(), value)) for name, value in values.items()}


def parked(name: str, waits_for: str = "t1", deadline: int = 1_000, **more: Any) -> bytes:
    """A record's value."""
    return entry(name, waits_for, deadline, **more).value
