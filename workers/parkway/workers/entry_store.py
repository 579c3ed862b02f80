"""Where the parked entries of a partition are held: in memory or on disk (entry_store_memory.py, entry_store_disk.py).

A store is no state of its own: it holds what `<ns>.parked` says, a restore fills it, and it ends with its process.
Applying the same changes once more, in their order, changes nothing: so a restore that was cancelled half-way may be
begun again on top of what it left.

A partition may start before everything that was read of it is indexed: then only its id finds an entry that is not
yet, and whoever looks for one by something else waits while `is_indexed` is false.

A store is used by one thread at a time: by a restore's, then on the event loop. `len` and `value_bytes` may be read
from any. Whoever drops the last reference drops what the store holds.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from confluent_kafka import Message

from parkway.workers.entry import BrokenEntry, Entry


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

    def load(self, records: Mapping[bytes, Message]) -> None:
        """What a restore has read: of each request id (UTF-8) the newest record, as it came, or its tombstone."""

    @property
    def is_indexed(self) -> bool:
        """Is everything that was loaded found by all of what follows, and nothing broken to be taken?"""

    def index(self, seconds: float) -> None:
        """Index what was loaded, for about so long."""

    def take_broken(self) -> list[BrokenEntry]:
        """What was found among the loaded records that cannot be read, and is in the store no more."""

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
