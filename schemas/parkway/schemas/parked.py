"""The record of `<ns>.parked`: everything that is needed to go on with a request and to answer it."""

import base64
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from parkway.schemas.versions import RecordError, read_versioned


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


class ParkedRecord(BaseModel):
    """One live record per request; each round overwrites it, the terminal response's transaction deletes it.

    `state` belongs to the action that parked it (for a chat: the conversation, token usage, retry counts).
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
    waits_for: str  # id of the tool request whose response resumes this
    pending_calls: tuple[str, ...] = ()
    deadline: int
    state: dict[str, Any] = Field(default_factory=dict)

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
        return self.model_dump_json().encode()

    @classmethod
    def from_json(cls, data: bytes) -> "ParkedRecord":
        """Read a record. Raises ParkedError with the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise ParkedError(f"parked record: {error}") from None


def parked_key(request_id: str, action: str) -> bytes:
    """The record key, `<request id>/<action>`."""
    return f"{request_id}/{action}".encode()


def split_parked_key(key: bytes) -> tuple[str, str]:
    """Record key -> request id and action. Raises ParkedError for a key that is not of that form."""
    try:
        request_id, _, action = key.decode().rpartition("/")
    except UnicodeDecodeError:
        raise ParkedError(f"parked key {key[:60]!r} is not UTF-8") from None
    if not request_id or not action:
        raise ParkedError(f"parked key {key[:60]!r}: expected <request id>/<action>")
    return request_id, action
