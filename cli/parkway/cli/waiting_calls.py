"""The tool calls in `<ns>.parked` that wait for a person."""

from base64 import b64decode
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin import AdminClient

from parkway.cli.parked_topic import ParkedMessage, parked_messages
from parkway.runtime.settings import Settings
from parkway.schemas import headers
from parkway.schemas.errors import ParkwayError
from parkway.schemas.parked import ParkedError, ParkedKind, ParkedRecord, split_parked_key
from parkway.schemas.parked_head import read_head


class AmbiguousIdError(ParkwayError):
    """The beginning of several ids."""


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that a person must allow. Times are milliseconds since 1970 (UTC); `token` is a secret."""

    id: str  # of the call
    tool: str
    arguments: dict[str, Any]
    reason: str | None
    request_id: str  # of the tool request
    chat: str | None  # the request that it was made for
    root_id: str | None  # the event from outside that everything began with
    tenant: str | None
    subject: str | None
    action: str
    partition: int
    asked_at: int
    deadline: int
    token: str
    raw_key: bytes
    record_key: bytes | None


class WaitingCalls:
    """As the topic stood when it was read. `decided`: calls that waited once, as far as the topic still tells."""

    def __init__(self, calls: list[WaitingCall], decided: set[str]) -> None:
        self.calls = calls
        self.decided = decided

    @classmethod
    def read(cls, admin: AdminClient, settings: Settings) -> "WaitingCalls":
        """The whole topic. Raises TopologyError, LogReadError."""
        live: dict[tuple[bytes, int], list[WaitingCall]] = {}
        seen: set[str] = set()
        for message in parked_messages(admin, settings):
            if message.key.kind is not ParkedKind.REQUEST:
                continue
            live.pop((message.raw_key, message.partition), None)
            calls = _calls(message)
            if calls:
                live[message.raw_key, message.partition] = calls
                seen.update(call.id for call in calls)
        waiting = [call for calls in live.values() for call in calls]
        return cls(waiting, seen - {call.id for call in waiting})

    def find(self, wanted: str) -> WaitingCall | None:
        """By a call's id, or what only one id begins with. Raises AmbiguousIdError when several do."""
        found = [call for call in self.calls if call.id == wanted] or [
            call for call in self.calls if call.id.startswith(wanted)
        ]
        if len(found) > 1:
            ids = ", ".join(sorted({call.id for call in found})[:5])
            raise AmbiguousIdError(f"{wanted!r} is the beginning of {len(found)} ids: {ids}; write more of it")
        return found[0] if found else None

    def why_not(self, wanted: str) -> str:
        """What to say of an id that no waiting call has."""
        if any(one.startswith(wanted) for one in self.decided):
            return f"call {wanted!r} waits no more: it was decided, its time is over, or its request was cancelled"
        return f"no call {wanted!r} waits for a person; see `parkway approvals list`"


def calls_left(value: bytes | None) -> set[str]:
    """Ids of the calls of a parked record that wait for a person; none of a tombstone."""
    try:
        return set(read_head(value).approvals or ()) if value is not None else set()
    except ParkedError:
        return set()


def _calls(message: ParkedMessage) -> list[WaitingCall]:
    if not calls_left(message.value):
        return []
    assert message.value is not None
    try:
        record = ParkedRecord.from_json(message.value)
        by_id = {call["id"]: call["function"] for call in record.request["attributes"]["tool_calls"]}
        return [_call(message, record, call_id, by_id[call_id]) for call_id in record.approvals]
    except (ParkedError, KeyError, TypeError):
        return []  # a worker sends it to the DLQ


def _call(message: ParkedMessage, record: ParkedRecord, call_id: str, function: dict[str, Any]) -> WaitingCall:
    approval, carried = record.approvals[call_id], record.origin.headers
    parent = carried.get(headers.PARENT)
    return WaitingCall(
        id=call_id,
        tool=str(function["name"]),
        arguments=function.get("arguments") or {},
        reason=approval.reason,
        request_id=record.request_id,
        chat=split_parked_key(parent.encode()).subject if parent is not None else None,
        root_id=carried.get(headers.ROOT_ID),
        tenant=carried.get(headers.TENANT),
        subject=carried.get(headers.SUBJECT),
        action=record.action,
        partition=message.partition,
        asked_at=approval.asked_at,
        deadline=record.deadline,
        token=approval.token,
        raw_key=message.raw_key,
        record_key=b64decode(record.record_key) if record.record_key is not None else None,
    )
