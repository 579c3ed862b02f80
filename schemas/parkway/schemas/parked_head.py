"""What an index needs of a parked record, read without making the rest: a restore reads every record of a partition.

msgspec walks over the members that are not named here: 1 microsecond for a record of 1 KB, where pydantic takes 7 for
the whole. Whatever it does not take (another version, or broken) is for `ParkedRecord.from_json` to judge.
"""

import re
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from parkway.schemas.parked import ParkedRecord
from parkway.schemas.tokens import TOKEN_PATTERN


class _Request(msgspec.Struct, gc=False):
    id: str


class OriginHead(msgspec.Struct, gc=False):
    """Where the request's record stands."""

    topic: str
    partition: int
    offset: int


class ApprovalHead(msgspec.Struct, gc=False):
    """What finds the request of an approval."""

    token: str


class ParkedHead(msgspec.Struct, gc=False):
    """The members of a `ParkedRecord` of this version that an index needs, under their names there."""

    v: Literal[1]
    kind: Literal["request"]
    build: str
    action: str
    record_key: str | None
    origin: OriginHead
    request: _Request
    request_hash: str
    round: Annotated[int, Meta(ge=1)]
    waits_for: str
    deadline: int
    pending_calls: tuple[str, ...] = ()
    token: str | None = None
    approvals: dict[str, ApprovalHead] | None = None
    awaits_person: bool = False

    @property
    def request_id(self) -> str:
        return self.request.id

    @classmethod
    def of(cls, record: ParkedRecord) -> "ParkedHead":
        """Of a record that is there in whole."""
        origin = record.origin
        return cls(
            v=record.v,
            kind=record.kind,
            build=record.build,
            action=record.action,
            record_key=record.record_key,
            origin=OriginHead(origin.topic, origin.partition, origin.offset),
            request=_Request(record.request_id),
            request_hash=record.request_hash,
            round=record.round,
            waits_for=record.waits_for,
            deadline=record.deadline,
            pending_calls=record.pending_calls,
            token=record.token,
            approvals={call_id: ApprovalHead(one.token) for call_id, one in record.approvals.items()} or None,
            awaits_person=record.awaits_person,
        )


_DECODER = msgspec.json.Decoder(ParkedHead)
# Not as msgspec's own patterns: those take three times as long.
_is_base64: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}").fullmatch
_is_token: Final = re.compile(TOKEN_PATTERN).fullmatch


def read_head(data: bytes) -> ParkedHead:
    """The head of a parked record. Raises ParkedError."""
    try:
        head = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ParkedHead.of(ParkedRecord.from_json(data))
    if (
        (head.record_key is None or _is_base64(head.record_key))
        and (head.token is None or _is_token(head.token))
        and (head.approvals is None or all(_is_token(one.token) for one in head.approvals.values()))
    ):
        return head
    return ParkedHead.of(ParkedRecord.from_json(data))
