"""The parked index of one partition: entries, what they wait for, and who has claimed them (DESIGN 7.2).

Used on the event loop only. States of an entry: free, claimed (by a response, the sweep or a cancellation),
committing. The first claim wins and lives as long as its result: an abort keeps it, since the result will be produced
again. A cancellation may take over the claim of a handler that still runs, and of nothing else.

An upsert enters the index before it is produced, because a fast tool response may be read before the commit
call returns; a response that meets a committing entry waits for the outcome.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from parkway.schemas.parked import ParkedRecord
from parkway.schemas.parked_head import ParkedHead
from parkway.schemas.tokens import Token

_REMEMBERED_ENDS: Final = 2_000


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
    """A parked record, kept as its bytes, with what the index needs of it."""

    value: bytes
    waits_for: str
    deadline: int
    origin: Origin

    @classmethod
    def of(cls, record: ParkedRecord | ParkedHead, value: bytes) -> "Entry":
        place = record.origin
        secret = Token.parse(record.token).secret if record.token is not None else None
        origin = Origin(place.topic, place.partition, place.offset, record.request_hash, secret)
        return cls(value, record.waits_for, record.deadline, origin)

    def record(self) -> ParkedRecord:
        """Decode. Raises ParkedError, which a restore has ruled out."""
        return ParkedRecord.from_json(self.value)


class Verdict(Enum):
    """What a request record is, seen from what is in flight and parked under its id."""

    NEW = auto()
    REPEAT = auto()  # the same record, or the same request again: dropped
    CONFLICT = auto()  # another request under an id that is taken: DLQ


class ParkedIndex:
    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._committing: dict[str, Entry | None] = {}  # None: its tombstone
        self._waits: dict[str, str] = {}  # tool request id -> request id
        self._claims: dict[str, Origin] = {}  # request id -> the request that something in hand works on
        self._not_parked = 0  # claims of requests without an entry: their first call
        self._secrets: dict[str, str] = {}  # secret of a cancel token -> request id, of what is claimed or parked
        self._ended: dict[str, str | None] = {}  # the last ones: request id -> secret

    def __len__(self) -> int:
        return len(self._entries)

    def bytes(self) -> int:
        """What the entries take. From any thread."""
        return sum(len(entry.value) for entry in list(self._entries.values()))

    @property
    def open_requests(self) -> int:
        return len(self._entries) + self._not_parked

    def committed_entries(self) -> dict[str, Entry] | None:
        """What is parked, once nothing is in a transaction any more; None while something is."""
        return None if self._committing else self._entries

    def load(self, request_id: str, entry: Entry) -> None:
        """Take over an entry that a restore has read."""
        self._entries[request_id] = entry
        self._waits[entry.waits_for] = request_id
        self._know(request_id, entry.origin)

    def start(self, request_id: str, origin: Origin) -> Verdict:
        """A request record is to be run: claims its id, or says why not."""
        known = self._claims.get(request_id)
        if known is None and request_id in self._entries:
            known = self._entries[request_id].origin
        if known is None:
            self._claims[request_id] = origin
            self._not_parked += 1
            self._ended.pop(request_id, None)
            self._know(request_id, origin)
            return Verdict.NEW
        same = known == origin or known.request_hash == origin.request_hash
        return Verdict.REPEAT if same else Verdict.CONFLICT

    def waiting_for(self, tool_request_id: str) -> str | None:
        """The request that waits for the response to this tool request."""
        return self._waits.get(tool_request_id)

    def of_secret(self, secret: str) -> str | None:
        """The request in flight or parked whose cancel token ends in this."""
        return self._secrets.get(secret)

    def secret_of(self, request_id: str) -> str | None:
        """The secret that the record of a running request brought along."""
        claim = self._claims.get(request_id)
        return claim.secret if claim is not None else None

    def entry(self, request_id: str) -> Entry | None:
        """The committed entry of a request."""
        return self._entries.get(request_id)

    def is_committing(self, request_id: str) -> bool:
        return request_id in self._committing

    def is_claimed(self, request_id: str) -> bool:
        """Does something in hand work on it?"""
        return request_id in self._claims

    def has_ended(self, request_id: str | None, secret: str | None) -> bool:
        """Has this owner seen it end lately, and not begin again? The secret counts when there is one."""
        if secret is not None:
            return secret in self._ended.values()
        return request_id in self._ended

    def claim(self, request_id: str) -> Entry | None:
        """Claim a free entry. None: it is gone, or another claim has won."""
        entry = self._entries.get(request_id)
        if entry is None or request_id in self._claims or request_id in self._committing:
            return None
        self._claims[request_id] = entry.origin
        return entry

    def overdue(self, now_ms: int) -> Iterator[str]:
        """Free entries whose deadline has passed."""
        for request_id, entry in self._entries.items():
            if entry.deadline <= now_ms and request_id not in self._claims and request_id not in self._committing:
                yield request_id

    def begin(self, request_id: str, entry: Entry | None) -> None:
        """A transaction with this upsert (None: the tombstone or the end) is about to be produced."""
        self._committing[request_id] = entry
        if entry is not None:
            self._waits[entry.waits_for] = request_id
            self._know(request_id, entry.origin)

    def committed(self, request_id: str) -> None:
        """The transaction has committed: the claim ends with it."""
        new = self._committing.pop(request_id)
        old = self._entries.pop(request_id, None)
        if old is not None and (new is None or old.waits_for != new.waits_for):
            self._waits.pop(old.waits_for, None)
        claim = self._claims.pop(request_id, None)
        if claim is not None and old is None:
            self._not_parked -= 1
        if new is not None:
            self._entries[request_id] = new
        else:
            self._end(request_id, old.origin if old is not None else claim)

    def aborted(self, request_id: str) -> None:
        """The transaction is known to be aborted: the upsert is withdrawn, the claim stays with its result."""
        new = self._committing.pop(request_id)
        old = self._entries.get(request_id)
        if new is not None and (old is None or old.waits_for != new.waits_for):
            self._waits.pop(new.waits_for, None)
        if new is not None and old is None and new.origin.secret is not None:
            self._secrets.pop(new.origin.secret, None)
            self._know(request_id, self._claims[request_id])

    def _know(self, request_id: str, origin: Origin) -> None:
        if origin.secret is not None:
            self._secrets[origin.secret] = request_id

    def _end(self, request_id: str, origin: Origin | None) -> None:
        secret = origin.secret if origin is not None else None
        if secret is not None and self._secrets.get(secret) == request_id:
            del self._secrets[secret]
        self._ended.pop(request_id, None)
        self._ended[request_id] = secret
        if len(self._ended) > _REMEMBERED_ENDS:
            del self._ended[next(iter(self._ended))]
