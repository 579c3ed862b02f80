"""The records of `<ns>.parked`: what is needed to go on with a request and to answer it, early cancellations, steps."""

import base64
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from parkway.schemas.tokens import TokenText
from parkway.schemas.versions import RecordError, read_versioned

_ABOUT_PEOPLE: Final = {"approvals", "awaits_person"}


class ParkedError(ValueError):
    """A parked record that this version cannot read."""


class Origin(BaseModel):
    """The request record that a context belongs to, as its headers and place told it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    topic: str
    partition: int
    offset: int
    headers: dict[str, str] = Field(default_factory=dict)  # those that travel on: root, tenant, trace ...
    external: bool = False
    reply_to: str | None = None
    hops: int = 0


class ParkedApproval(BaseModel):
    """A tool call that waits for a person: who has the token decides. `asked_at` is in milliseconds since 1970."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    token: TokenText
    reason: str | None = None  # why a person is asked
    asked_at: int


class ParkedRecord(BaseModel):
    """One live record per request; each round overwrites it, the terminal response's transaction deletes it.

    `state` belongs to the action that parked it (for a chat: the conversation, token usage, retry counts).
    `token` cancels the request; records of before there were cancellations have none. A tool request is parked for
    `approvals`, by call id, and waits for no other request. With `awaits_person` it stands still until a person has
    decided, itself or a tool request that it waits for: such records are counted apart.
    Times are milliseconds since 1970 (UTC).
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    v: Literal[1] = 1
    build: str
    kind: Literal["request"] = "request"
    action: str
    record_key: str | None  # base64 of the Kafka key, so that what follows carries the same one
    origin: Origin
    request: dict[str, Any]  # the request event in its JSON form, user_context inside
    request_hash: str  # of the body and reply-to: the same request again, or another one under its id
    round: int = Field(ge=1)
    waits_for: str  # id of the tool request whose response resumes this; empty when approvals do
    pending_calls: tuple[str, ...] = ()
    deadline: int
    state: dict[str, Any] = Field(default_factory=dict)
    token: TokenText | None = None
    approvals: dict[str, ParkedApproval] = Field(default_factory=dict)
    awaits_person: bool = False

    @model_validator(mode="after")
    def _usable(self) -> Self:
        """What a worker relies on when it resumes or ends the request: else the record is unreadable."""
        if not isinstance(self.request.get("id"), str):
            raise ValueError("request.id: expected a string")  # noqa: TRY004  pydantic collects ValueErrors
        if self.record_key is not None:
            try:
                base64.b64decode(self.record_key, validate=True)
            except ValueError:
                raise ValueError("record_key: expected base64") from None
        return self

    @property
    def request_id(self) -> str:
        return str(self.request["id"])

    def to_json(self) -> bytes:
        without = None if self.awaits_person else _ABOUT_PEOPLE  # most do not, and are read again in every restore
        return self.model_dump_json(exclude=without).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "ParkedRecord":
        """Read a record. Raises ParkedError with the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise ParkedError(f"parked record: {error}") from None


class ParkedCancellation(BaseModel):
    """A cancellation of a request that has not come yet: by its cancel token or, without one, by its id.

    It is forgotten when the request has come and is answered, or after `deadline` (milliseconds since 1970, UTC).
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    v: Literal[1] = 1
    build: str
    kind: Literal["cancellation"] = "cancellation"
    action: str
    request_id: str | None = None
    token: TokenText | None = None
    reason: str | None = None
    deadline: int

    def to_json(self) -> bytes:
        return self.model_dump_json().encode()

    @classmethod
    def from_json(cls, data: bytes) -> "ParkedCancellation":
        """Read a record. Raises ParkedError with the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise ParkedError(f"parked cancellation: {error}") from None


class ParkedStep(BaseModel):
    """The result of a step that a user's action has finished (`ctx.step`), until its record has ended.

    `event_id` is the event's in the record that the step belongs to: after the action's topic was made anew, another
    record may have its offset.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    v: Literal[1] = 1
    build: str
    kind: Literal["step"] = "step"
    action: str
    event_id: str
    result: str  # JSON, as a text: written and read back without a change

    def to_json(self) -> bytes:
        return self.model_dump_json().encode()

    @classmethod
    def from_json(cls, data: bytes) -> "ParkedStep":
        """Read a record. Raises ParkedError with the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise ParkedError(f"parked step: {error}") from None


class ParkedKind(Enum):
    """What a key of `<ns>.parked` is for; the value ends the key.

    No action has a colon in its name: an older version takes a cancellation for another action's, and leaves it alone.
    """

    REQUEST = ""
    CANCELLED_ID = ":cancel"  # a ParkedCancellation; the subject is the request id
    CANCELLED_TOKEN = ":cancel-token"  # noqa: S105  the subject is the secret of the token
    STEP = ":step"  # a ParkedStep; the subject is `<partition>/<offset in the action's topic>/<name of the step>`


class ParkedKey(NamedTuple):
    """A key of `<ns>.parked`, taken apart."""

    subject: str
    action: str
    kind: ParkedKind


_KINDS: Final = {kind.value: kind for kind in ParkedKind}


def parked_key(subject: str, action: str, kind: ParkedKind = ParkedKind.REQUEST) -> bytes:
    """The record key: `<request id>/<action>` of a parked request."""
    return f"{subject}/{action}{kind.value}".encode()


def split_parked_key(key: bytes) -> ParkedKey:
    """Take a record key apart. Raises ParkedError for a key that is not of that form."""
    try:
        subject, _, last = key.decode().rpartition("/")
    except UnicodeDecodeError:
        raise ParkedError(f"parked key {key[:60]!r} is not UTF-8") from None
    if not subject or not last:
        raise ParkedError(f"parked key {key[:60]!r}: expected <request id>/<action>")
    action, colon, rest = last.partition(":")
    kind = _KINDS.get(colon + rest)
    if kind is None:  # of a later version
        return ParkedKey(subject, last, ParkedKind.REQUEST)
    return ParkedKey(subject, action, kind)


def step_key(partition: int, offset: int, name: str, action: str) -> bytes:
    """The record key of a step: `<partition>/<offset>/<name>/<action>:step`."""
    return parked_key(f"{partition}/{offset}/{name}", action, ParkedKind.STEP)


def split_step_subject(subject: str) -> tuple[int, str]:
    """Offset and name of a step, from the subject of its key. Raises ParkedError."""
    _, _, rest = subject.partition("/")
    offset, _, name = rest.partition("/")
    if not (name and offset.isascii() and offset.isdigit() and len(offset) < 20):
        raise ParkedError(f"parked step {subject[:60]!r}: expected <partition>/<offset>/<name>")
    return int(offset), name
