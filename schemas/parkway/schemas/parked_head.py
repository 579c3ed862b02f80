"""What an index needs of a parked record, read without making the rest: a restore reads every record of a partition.

msgspec walks over the members that are not named here: 1 microsecond for a record of 1 KB, where pydantic takes 7 for
the whole. Whatever it does not take (another version, or broken) is for `ParkedRecord.from_json` to judge.
"""

from typing import Annotated, Literal

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


class ParkedHead(msgspec.Struct, gc=False):
    """The members of a `ParkedRecord` of this version that an index needs, under their names there."""

    v: Literal[1]
    kind: Literal["request"]
    build: str
    action: str
    record_key: Annotated[str, Meta(pattern="^[A-Za-z0-9+/]*={0,2}$")] | None
    origin: OriginHead
    request: _Request
    request_hash: str
    round: Annotated[int, Meta(ge=1)]
    waits_for: str
    deadline: int
    pending_calls: tuple[str, ...] = ()
    token: Annotated[str, Meta(pattern=f"^{TOKEN_PATTERN}$")] | None = None

    @property
    def request_id(self) -> str:
        return self.request.id


_DECODER = msgspec.json.Decoder(ParkedHead)


def read_head(data: bytes) -> ParkedHead | ParkedRecord:
    """The head of a parked record; the record itself where that takes more. Raises ParkedError."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ParkedRecord.from_json(data)
