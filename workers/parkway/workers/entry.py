"""A parked record as a worker handles it: its bytes, and what finds it."""

from dataclasses import dataclass, field

from parkway.schemas.parked import ParkedRecord
from parkway.schemas.parked_head import ParkedHead, read_head
from parkway.schemas.tokens import Token


@dataclass(slots=True)  # not frozen: see runtime/records.py
class Origin:
    """Where a request's record stands, a hash of what it asks, and the secret of its cancel token."""

    topic: str
    partition: int
    offset: int
    request_hash: str
    secret: str | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Entry:
    """Made when it is needed: what a store keeps is the value."""

    value: bytes
    request_id: str
    waits_for: str
    deadline: int
    origin: Origin

    @classmethod
    def of(cls, record: ParkedRecord | ParkedHead, value: bytes) -> "Entry":
        place = record.origin
        secret = Token.parse(record.token).secret if record.token is not None else None
        origin = Origin(place.topic, place.partition, place.offset, record.request_hash, secret)
        return cls(value, record.request_id, record.waits_for, record.deadline, origin)

    @classmethod
    def read(cls, value: bytes) -> "Entry":
        """Raises ParkedError, which for what a store holds has been ruled out."""
        return cls.of(read_head(value), value)

    def record(self) -> ParkedRecord:
        """Decode. Raises ParkedError, which a restore has ruled out."""
        return ParkedRecord.from_json(self.value)
