"""Where the parked entries of a partition are held: in memory here, on disk in entry_store_disk.py.

A store is no state of its own: it holds what `<ns>.parked` says, a restore fills it, and it ends with its process.
Applying the same changes once more, in their order, changes nothing: so a restore that was cancelled half-way may be
begun again on top of what it left.

A store is used by one thread at a time: by a restore's, then on the event loop. `len` and `value_bytes` may be read
from any. Whoever drops the last reference drops what the store holds.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from parkway.schemas.tokens import secret_of
from parkway.workers.deadlines import Deadlines
from parkway.workers.entry import Entry

_OVERHEAD: Final = 550  # bytes of Python objects around an entry's value, measured (benchmarks/restore.py)


class EntryStoreError(Exception):
    """A store that can no longer be read or written: the process must end, and another one restore from Kafka."""


class EntryStore(Protocol):
    """Committed entries by request id. Methods raise EntryStoreError; none takes longer than a look-up on a disk."""

    @property
    def value_bytes(self) -> int:
        """Bytes of all values."""

    @property
    def resident_bytes(self) -> int:
        """Bytes of memory that are free again when the store is dropped."""

    @property
    def awaiting_person(self) -> int:
        """How many of them stand still until a person has decided."""

    def __len__(self) -> int: ...

    def get(self, request_id: str) -> Entry | None: ...

    def change(self, changes: Mapping[str, Entry | None]) -> None:
        """Put these entries in the place of what is there; None takes one out."""

    def waiting_for(self, tool_request_id: str) -> str | None:
        """The request whose entry waits for this tool request."""

    def of_secret(self, secret: str) -> str | None:
        """The request whose cancel token ends in this."""

    def of_approval(self, secret: str) -> str | None:
        """The request that the token of an approval, which ends in this, was made for."""

    def due(self, now_ms: int) -> Iterator[str]:
        """Requests whose deadline has passed, a tenth of a second late at most."""


# Makes the store of one partition.
MakeStore = Callable[[], EntryStore]


class MemoryEntries:
    """Values as they are, and an index of strings beside them: an `Entry` would take as much again."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._waits: dict[str, str] = {}
        self._secrets: dict[str, str] = {}
        self._approvals: dict[str, str] = {}
        self._awaiting = 0
        self._deadlines = Deadlines()
        self._bytes = 0

    @property
    def value_bytes(self) -> int:
        return self._bytes

    @property
    def resident_bytes(self) -> int:
        return self._bytes + len(self._values) * _OVERHEAD

    @property
    def awaiting_person(self) -> int:
        return self._awaiting

    def __len__(self) -> int:
        return len(self._values)

    def get(self, request_id: str) -> Entry | None:
        value = self._values.get(request_id)
        return Entry.read(value) if value is not None else None

    def change(self, changes: Mapping[str, Entry | None]) -> None:
        values, waits, secrets, deadlines = self._values, self._waits, self._secrets, self._deadlines
        for request_id, new in changes.items():
            value = values.get(request_id)
            if value is not None:
                self._take_out(Entry.read(value))
            if new is None:
                continue
            head = new.head
            values[request_id] = new.value
            if head.waits_for:
                waits[head.waits_for] = request_id
            if head.approvals:
                self._approvals.update(dict.fromkeys(new.approval_secrets, request_id))
            self._awaiting += head.awaits_person
            if head.token is not None:
                secrets[secret_of(head.token)] = request_id
            deadlines.add(request_id, head.deadline)
            self._bytes += len(new.value)

    def waiting_for(self, tool_request_id: str) -> str | None:
        return self._waits.get(tool_request_id)

    def of_secret(self, secret: str) -> str | None:
        return self._secrets.get(secret)

    def of_approval(self, secret: str) -> str | None:
        return self._approvals.get(secret)

    def due(self, now_ms: int) -> Iterator[str]:
        return iter(self._deadlines.due(now_ms))

    def _take_out(self, entry: Entry) -> None:
        request_id, secret = entry.request_id, entry.secret
        del self._values[request_id]
        # Requesters choose secrets: two may have chosen the same, and the last one has it.
        _remove(self._waits, entry.waits_for, request_id)
        for approval in entry.approval_secrets:
            _remove(self._approvals, approval, request_id)
        self._awaiting -= entry.head.awaits_person
        if secret is not None:
            _remove(self._secrets, secret, request_id)
        self._deadlines.discard(request_id, entry.deadline)
        self._bytes -= len(entry.value)


def _remove(index: dict[str, str], key: str, request_id: str) -> None:
    if index.get(key) == request_id:
        del index[key]
