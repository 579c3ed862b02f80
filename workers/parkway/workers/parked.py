"""The parked index of one partition: entries, what they wait for, and who has claimed them (DESIGN 7.2).

Used on the event loop only. States of an entry: free, claimed (by a response, the sweep or a cancellation),
committing. The first claim wins and lives as long as its result: an abort keeps it, since the result will be produced
again. A cancellation may take over the claim of a handler that still runs, and of nothing else.

An upsert enters the index before it is produced, because a fast tool response may be read before the commit
call returns; a response that meets a committing entry waits for the outcome. The store holds what is committed and
nothing else; what is in hand is in memory here, on top of it. Until all that a restore has read is indexed
(entry_store.py), None from a look-up other than by id does not mean that there is nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import Final

from parkway.workers.entry import BrokenEntry, Entry, Origin
from parkway.workers.entry_store import EntryStore
from parkway.workers.entry_store_memory import MemoryEntries

_REMEMBERED_ENDS: Final = 2_000


class Verdict(Enum):
    """What a request record is, seen from what is in flight and parked under its id."""

    NEW = auto()
    REPEAT = auto()  # the same record, or the same request again: dropped
    CONFLICT = auto()  # another request under an id that is taken: DLQ


@dataclass(slots=True)
class _Claim:
    """Of a request that something in hand works on; `entry` is what it was claimed with, None in its first call."""

    origin: Origin
    entry: Entry | None


class ParkedIndex:
    def __init__(self, store: EntryStore | None = None) -> None:
        """`store` is this index's own from now on."""
        self._store: EntryStore = store if store is not None else MemoryEntries()
        self._committing: dict[str, Entry | None] = {}  # None: its tombstone
        self._claims: dict[str, _Claim] = {}
        self._not_parked = 0  # claims of requests without an entry: their first call
        self._waits: dict[str, str] = {}  # of what is committing: tool request id -> request id
        self._approvals: dict[str, str] = {}  # of what is committing: secret of an approval -> request id
        self._secrets: dict[str, str] = {}  # of first calls and of what is committing: secret -> request id
        self._was_broken = False
        self._ended: dict[str, str | None] = {}  # the last ones: request id -> secret

    def __len__(self) -> int:
        return len(self._store)

    def bytes(self) -> int:
        """What the parked records take, in memory or on disk. From any thread."""
        return self._store.value_bytes

    @property
    def open_requests(self) -> int:
        """What `max_open` bounds: all but those that wait for a person."""
        return len(self._store) - self._store.awaiting_person + self._not_parked

    @property
    def awaiting_person(self) -> int:
        """What `max_awaiting` bounds."""
        return self._store.awaiting_person

    @property
    def is_indexed(self) -> bool:
        """Is everything that a restore has read found by what it waits for, by its secrets and by its deadline?"""
        return self._store.is_indexed

    def index(self, seconds: float) -> None:
        """Go on with that, for about so long."""
        self._store.index(seconds)

    def take_broken(self) -> list[BrokenEntry]:
        """What was found unreadable on the way, once. What comes under these ids from now on is new."""
        broken = self._store.take_broken()
        self._was_broken |= bool(broken)
        return broken

    def committed_entries(self) -> EntryStore | None:
        """What is parked, once nothing is in a transaction any more; None while something is.

        None also after something unreadable was found: it is in no store, and perhaps its tombstone is not written.
        """
        return None if self._committing or self._was_broken else self._store

    def start(self, request_id: str, origin: Origin) -> Verdict:
        """A request record is to be run: claims its id, or says why not."""
        known = self._origin(request_id)
        if known is None:
            self._claims[request_id] = _Claim(origin, None)
            self._not_parked += 1
            self._ended.pop(request_id, None)
            self._know(request_id, origin)
            return Verdict.NEW
        same = known == origin or known.request_hash == origin.request_hash
        return Verdict.REPEAT if same else Verdict.CONFLICT

    def waiting_for(self, tool_request_id: str, parent: str | None = None) -> str | None:
        """The request that waits for the response to this tool request; `parent` if it is right about itself."""
        if parent is not None and not self._store.is_indexed:
            self._store.get(parent)
        return self._waits.get(tool_request_id) or self._store.waiting_for(tool_request_id)

    def of_secret(self, secret: str) -> str | None:
        """The request in flight or parked whose cancel token ends in this."""
        return self._secrets.get(secret) or self._store.of_secret(secret)

    def of_approval(self, secret: str, asked: str) -> str | None:
        """The request that the token of an approval, which ends in this, was made for: `asked` if it is right."""
        if not self._store.is_indexed:
            self._store.get(asked)
        return self._approvals.get(secret) or self._store.of_approval(secret)

    def secret_of(self, request_id: str) -> str | None:
        """The secret that the record of a running request brought along."""
        claim = self._claims.get(request_id)
        return claim.origin.secret if claim is not None else None

    def entry(self, request_id: str) -> Entry | None:
        """The committed entry of a request."""
        claim = self._claims.get(request_id)
        return claim.entry if claim is not None else self._store.get(request_id)

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
        if request_id in self._claims or request_id in self._committing:
            return None
        entry = self._store.get(request_id)
        if entry is not None:
            self._claims[request_id] = _Claim(entry.origin, entry)
        return entry

    def overdue(self, now_ms: int, at_most: int) -> list[str]:
        """Free entries whose deadline has passed."""
        return list(islice(self._free(self._store.due(now_ms)), at_most))

    def begin(self, request_id: str, entry: Entry | None) -> None:
        """A transaction with this upsert (None: the tombstone or the end) is about to be produced."""
        self._committing[request_id] = entry
        if entry is not None:
            if entry.waits_for:
                self._waits[entry.waits_for] = request_id
            for approval in entry.approval_secrets:
                self._approvals[approval] = request_id
            self._know(request_id, entry.origin)

    def committed(self, request_id: str) -> None:
        """The transaction has committed: the claim ends with it."""
        new = self._committing.pop(request_id)
        claim = self._claims.pop(request_id, None)
        old = claim.entry if claim is not None else self._store.get(request_id)
        if new is not None or old is not None:
            self._store.change({request_id: new})
        if claim is not None:
            self._forget(request_id, claim.origin)
            if old is None:
                self._not_parked -= 1
        if new is not None:
            self._settle(request_id, new)
        else:
            self._end(request_id, old.origin if old is not None else claim.origin if claim is not None else None)

    def aborted(self, request_id: str) -> None:
        """The transaction is known to be aborted: the upsert is withdrawn, the claim stays with its result."""
        new = self._committing.pop(request_id)
        if new is not None:
            self._settle(request_id, new)
        claim = self._claims.get(request_id)
        if claim is not None and claim.entry is None:
            self._know(request_id, claim.origin)

    def _origin(self, request_id: str) -> Origin | None:
        claim = self._claims.get(request_id)
        if claim is not None:
            return claim.origin
        entry = self._store.get(request_id)
        return entry.origin if entry is not None else None

    def _free(self, request_ids: Iterator[str]) -> Iterator[str]:
        return (one for one in request_ids if one not in self._claims and one not in self._committing)

    def _know(self, request_id: str, origin: Origin) -> None:
        if origin.secret is not None:
            self._secrets[origin.secret] = request_id

    def _settle(self, request_id: str, upsert: Entry) -> None:
        """It is in the store, or nowhere: it leaves what is in hand."""
        self._waits.pop(upsert.waits_for, None)
        for approval in upsert.approval_secrets:
            self._approvals.pop(approval, None)
        self._forget(request_id, upsert.origin)

    def _forget(self, request_id: str, origin: Origin) -> None:
        if origin.secret is not None and self._secrets.get(origin.secret) == request_id:
            del self._secrets[origin.secret]

    def _end(self, request_id: str, origin: Origin | None) -> None:
        self._ended.pop(request_id, None)
        self._ended[request_id] = origin.secret if origin is not None else None
        if len(self._ended) > _REMEMBERED_ENDS:
            del self._ended[next(iter(self._ended))]
