"""Parked entries in memory: values as they are, an index of strings beside them. An `Entry` would take as much again.

Indexing takes three times as long as reading. So what a restore loads stays as it was read (`_unindexed`) and moves
over afterwards: bit by bit, or at once when its id is asked for. No request is in both.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from confluent_kafka import Message

from parkway.schemas.parked import ParkedError
from parkway.schemas.tokens import secret_of
from parkway.workers.deadlines import Deadlines
from parkway.workers.entry import BrokenEntry, Entry, entry_of
from parkway.workers.times import monotonic

_OVERHEAD: Final = 550  # bytes of Python objects around an entry's value, measured (benchmarks/restore.py)
_AT_ONCE: Final = 50  # entries between two looks at the clock


class MemoryEntries:
    """An `EntryStore` (entry_store.py) of one partition."""

    def __init__(self) -> None:
        self._unindexed: dict[bytes, Message] = {}  # by request id, in the order of their offsets
        self._line: list[bytes] = []  # of those, the oldest last
        self._broken: dict[bytes, BrokenEntry] = {}  # by request id
        self._values: dict[str, bytes] = {}
        self._waits: dict[str, str] = {}
        self._secrets: dict[str, str] = {}
        self._approvals: dict[str, str] = {}
        self._awaiting = 0
        self._deadlines = Deadlines()
        self._bytes = 0  # of values, and of what is not indexed

    @property
    def value_bytes(self) -> int:
        return self._bytes

    @property
    def resident_bytes(self) -> int:
        return self._bytes + len(self) * _OVERHEAD

    @property
    def awaiting_person(self) -> int:
        return self._awaiting

    def __len__(self) -> int:
        return len(self._values) + len(self._unindexed)

    def get(self, request_id: str) -> Entry | None:
        if self._unindexed:
            message = self._unindexed.pop(_encode(request_id), None)
            if message is not None:
                self._move(_encode(request_id), message)
        value = self._values.get(request_id)
        return Entry.read(value) if value is not None else None

    def change(self, changes: Mapping[str, Entry | None]) -> None:
        values = self._values
        for request_id, new in changes.items():
            if not self.is_indexed:
                self._drop(_encode(request_id))
            value = values.get(request_id)
            if value is not None:
                self._take_out(Entry.read(value))
            if new is not None:
                self._put(request_id, new)

    def load(self, records: Mapping[bytes, Message]) -> None:
        unindexed = self._unindexed
        if self._values:  # of a restore before this one: these are newer
            self.change(dict.fromkeys(map(bytes.decode, records)))
        for known in (unindexed, self._broken):
            for request_id in known.keys() & records.keys():
                self._drop(request_id)
        for request_id, message in records.items():
            value = message.value()
            if value is not None:
                unindexed[request_id] = message
                self._bytes += len(value)

    @property
    def is_indexed(self) -> bool:
        return not self._unindexed and not self._broken

    def index(self, seconds: float) -> None:
        unindexed, end = self._unindexed, monotonic() + seconds
        while unindexed:
            if not self._line:
                self._line = list(reversed(unindexed))
            for request_id in self._line[: -_AT_ONCE - 1 : -1]:
                message = unindexed.pop(request_id, None)
                if message is not None:  # else its id was asked for meanwhile
                    self._move(request_id, message)
            del self._line[-_AT_ONCE:]
            if monotonic() >= end:
                break
        if not unindexed:
            self._unindexed, self._line = {}, []  # an empty dict keeps the room that it had

    def take_broken(self) -> list[BrokenEntry]:
        broken, self._broken = self._broken, {}
        return list(broken.values())

    def waiting_for(self, tool_request_id: str) -> str | None:
        return self._waits.get(tool_request_id)

    def of_secret(self, secret: str) -> str | None:
        return self._secrets.get(secret)

    def of_approval(self, secret: str) -> str | None:
        return self._approvals.get(secret)

    def due(self, now_ms: int) -> Iterator[str]:
        return iter(self._deadlines.due(now_ms))

    def _drop(self, request_id: bytes) -> None:
        self._broken.pop(request_id, None)
        message = self._unindexed.pop(request_id, None)
        if message is not None:
            self._bytes -= len(message.value() or b"")

    def _move(self, request_id: bytes, message: Message) -> None:
        """It has left what is not indexed."""
        self._bytes -= len(message.value() or b"")
        try:
            entry = entry_of(message)
        except ParkedError as failure:
            self._broken[request_id] = BrokenEntry.of(message, failure)
        else:
            self._put(entry.request_id, entry)

    def _put(self, request_id: str, new: Entry) -> None:
        head = new.head
        self._values[request_id] = new.value
        if head.waits_for:
            self._waits[head.waits_for] = request_id
        if head.approvals:
            self._approvals.update(dict.fromkeys(new.approval_secrets, request_id))
        self._awaiting += head.awaits_person
        if head.token is not None:
            self._secrets[secret_of(head.token)] = request_id
        self._deadlines.add(request_id, head.deadline)
        self._bytes += len(new.value)

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


def _encode(request_id: str) -> bytes:
    return request_id.encode("utf-8", "surrogatepass")  # JSON can name what UTF-8 cannot
