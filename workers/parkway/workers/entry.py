"""A parked record as a worker handles it: its bytes, and what finds it."""

from dataclasses import dataclass, field

import msgspec
from confluent_kafka import Message

from parkway.schemas.parked import ParkedError, ParkedRecord
from parkway.schemas.parked_head import ParkedHead, read_head
from parkway.schemas.tokens import secret_of


@dataclass(slots=True)  # not frozen: see runtime/records.py
class Origin:
    """Where a request's record stands, a hash of what it asks, and the secret of its cancel token."""

    topic: str
    partition: int
    offset: int
    request_hash: str
    secret: str | None = field(default=None, compare=False, repr=False)


class Entry(msgspec.Struct, gc=False):  # a restore makes one for every record
    """Made when it is needed: what a store keeps is the value."""

    value: bytes
    head: ParkedHead

    @classmethod
    def of(cls, record: ParkedRecord, value: bytes) -> "Entry":
        return cls(value, ParkedHead.of(record))

    @classmethod
    def read(cls, value: bytes) -> "Entry":
        """Raises ParkedError, which for what a store holds has been ruled out."""
        return cls(value, read_head(value))

    @property
    def request_id(self) -> str:
        return self.head.request.id

    @property
    def waits_for(self) -> str:
        """The tool request that it waits for; empty when it waits for approvals."""
        return self.head.waits_for

    @property
    def deadline(self) -> int:
        """Milliseconds since 1970."""
        return self.head.deadline

    @property
    def secret(self) -> str | None:
        """Of the token that cancels it."""
        token = self.head.token
        return secret_of(token) if token is not None else None

    @property
    def approval_secrets(self) -> list[str]:
        """Of the tokens that approve or deny a call of it."""
        approvals = self.head.approvals
        return [secret_of(one.token) for one in approvals.values()] if approvals else []

    @property
    def origin(self) -> Origin:
        place = self.head.origin
        return Origin(place.topic, place.partition, place.offset, self.head.request_hash, self.secret)

    def record(self) -> ParkedRecord:
        """Decode. Raises ParkedError, which a restore has ruled out."""
        return ParkedRecord.from_json(self.value)


@dataclass(slots=True)
class BrokenEntry:
    """A parked record that cannot be decoded: it goes to the DLQ, with a tombstone."""

    key: bytes
    value: bytes
    offset: int
    reason: str

    @classmethod
    def of(cls, message: Message, failure: ParkedError) -> "BrokenEntry":
        offset = message.offset()
        return cls(message.key() or b"", message.value() or b"", offset if offset is not None else -1, str(failure))


def entry_of(message: Message) -> Entry:
    """Of a record that a restore has read. Raises ParkedError, also for one that does not belong to its key."""
    entry = Entry.read(message.value() or b"")
    subject, _, _ = (message.key() or b"").rpartition(b"/")
    if not subject or subject != entry.request_id.encode("utf-8", "surrogatepass"):
        raise ParkedError(f"parked record of {entry.request_id!r} under the key of {subject[:60]!r}")
    return entry
