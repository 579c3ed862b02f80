"""Parked entries on disk, with RocksDB (`rocksdict`): for more contexts than memory holds.

Nothing of an entry stays in memory but what RocksDB caches: its index is on disk too. Keys of a partition begin with a
number of its own, which is never used again, and a letter:

    e <request id>             -> the parked record
    w <tool request id>        -> the request id that waits for it
    s <secret>                 -> the request id that it cancels
    a <secret>                 -> the request id that it approves a call of
    d <deadline> <request id>  -> nothing; in the order of time

Kafka is the truth, and a process never reads what another one has written: so there is no write-ahead log and no fsync,
and the folder of a process that died is deleted. Look-ups take microseconds out of the caches, and a read of
the disk otherwise. Each action has a database of its own: the restore of one does not hold up the writes of another.
"""

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final

from confluent_kafka import Message
from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from parkway.schemas.parked import ParkedError
from parkway.workers.entry import BrokenEntry, Entry, entry_of
from parkway.workers.entry_store import EntryStoreError

_MB: Final = 1024 * 1024
_NUMBER_BYTES: Final = 4
_TIME_BYTES: Final = 8
_LATEST: Final = 2**63
_EMPTY_BYTES: Final = 1_000  # Python objects of a store, whatever it holds


class Database:
    """The parked entries of one action, in a folder of their own. Raises EntryStoreError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with self.errors_named():
            self.rocks = Rdict(str(folder), _options())
            self.without_log = WriteOptions()
            self.without_log.disable_wal = True  # type: ignore[method-assign, assignment]  # the stub takes it for a method
        self._numbers = count()

    def partition(self) -> "DiskEntries":
        """An empty store."""
        return DiskEntries(self, next(self._numbers).to_bytes(_NUMBER_BYTES, "big"))

    def stop(self) -> None:
        """Nothing of it writes into its folder any more; what comes after that is lost."""
        with suppress(Exception):  # whatever it is, the folder goes
            self.rocks.cancel_all_background(wait=True)

    @contextmanager
    def errors_named(self) -> Iterator[None]:
        """What RocksDB raises says neither whose it is nor what may be done about it."""
        try:
            yield
        except Exception as error:
            raise EntryStoreError(
                f"parked entries in {self._folder}: {error} (PARKWAY_PARKED_DIR takes another disk, "
                "PARKWAY_PARKED_STORE=memory none)"
            ) from error


class DiskEntries:
    """An `EntryStore` (entry_store.py) of one partition."""

    def __init__(self, database: Database, number: bytes) -> None:
        self._database = database
        self._rocks = database.rocks
        self._number = number
        self._count = 0
        self._bytes = 0
        self._awaiting = 0
        self._broken: dict[bytes, BrokenEntry] = {}  # by request id
        self._swept = 0  # no deadline of an entry lies before this
        # By whoever lets go of it last: its assignment, the indexes that are kept, or a restore that was cancelled.
        weakref.finalize(self, _drop, database, number).atexit = False

    @property
    def value_bytes(self) -> int:
        return self._bytes

    @property
    def resident_bytes(self) -> int:
        return _EMPTY_BYTES

    @property
    def awaiting_person(self) -> int:
        return self._awaiting

    def __len__(self) -> int:
        return self._count

    def get(self, request_id: str) -> Entry | None:
        with self._database.errors_named():
            value = self._rocks.get(self._key(b"e", request_id))
        return Entry.read(value) if value is not None else None

    def change(self, changes: Mapping[str, Entry | None]) -> None:
        with self._database.errors_named():
            found: list[bytes | None] = self._rocks[[self._key(b"e", name) for name in changes]] or []
        batch = WriteBatch(raw_mode=True)
        for (request_id, new), value in zip(changes.items(), found, strict=True):
            if self._broken:
                self._broken.pop(_encode(request_id), None)
            if value is not None:
                self._take_out(batch, Entry.read(value), new)
            if new is not None:
                self._put(batch, request_id, new)
        with self._database.errors_named():
            self._rocks.write(batch, self._database.without_log)

    def load(self, records: Mapping[bytes, Message]) -> None:
        """Indexed at once: memory is not for it."""
        changes: dict[str, Entry | None] = {}
        broken: dict[bytes, BrokenEntry] = {}
        for request_id, message in records.items():
            changes[_decode(request_id)] = None  # what was there before a record that is broken is gone too
            if message.value() is not None:
                try:
                    changes[_decode(request_id)] = entry_of(message)
                except ParkedError as failure:
                    broken[request_id] = BrokenEntry.of(message, failure)
        self.change(changes)
        self._broken |= broken

    @property
    def is_indexed(self) -> bool:
        return not self._broken

    def index(self, seconds: float) -> None:
        """There is nothing to do."""

    def take_broken(self) -> list[BrokenEntry]:
        broken, self._broken = self._broken, {}
        return list(broken.values())

    def waiting_for(self, tool_request_id: str) -> str | None:
        return self._named(self._key(b"w", tool_request_id))

    def of_secret(self, secret: str) -> str | None:
        return self._named(self._key(b"s", secret))

    def of_approval(self, secret: str) -> str | None:
        return self._named(self._key(b"a", secret))

    def due(self, now_ms: int) -> Iterator[str]:
        """Looks at what has become due since the last time: entries that have ended leave their marks behind."""
        start = len(self._number) + 1 + _TIME_BYTES
        with self._database.errors_named():
            until = ReadOptions()
            until.set_iterate_upper_bound(self._time(now_ms + 1))
            found = self._rocks.iter(until)
            found.seek(self._time(self._swept))
            first = found.key() if found.valid() else None
            self._swept = int.from_bytes(first[start - _TIME_BYTES : start], "big") if first is not None else now_ms + 1
            while found.valid():
                yield _decode(found.key()[start:])
                found.next()
            found.status()

    def _put(self, batch: WriteBatch, request_id: str, entry: Entry) -> None:
        name, secret = _encode(request_id), entry.secret
        batch.put(self._number + b"e" + name, entry.value)
        if entry.waits_for:
            batch.put(self._key(b"w", entry.waits_for), name)
        for approval in entry.approval_secrets:
            batch.put(self._key(b"a", approval), name)
        if secret is not None:
            batch.put(self._key(b"s", secret), name)
        batch.put(self._time(entry.deadline) + name, b"")
        self._swept = min(self._swept, max(0, entry.deadline))
        self._count += 1
        self._awaiting += entry.head.awaits_person
        self._bytes += len(entry.value)

    def _take_out(self, batch: WriteBatch, old: Entry, new: Entry | None) -> None:
        """What `new` puts in the same place need not be removed."""
        request_id, secret = old.request_id, old.secret
        if new is None:
            batch.delete(self._key(b"e", request_id))
        if new is None or new.waits_for != old.waits_for:
            batch.delete(self._key(b"w", old.waits_for))
        # Requesters choose secrets: two may have chosen the same, and the last one has it.
        if secret is not None and self.of_secret(secret) == request_id:
            batch.delete(self._key(b"s", secret))
        for approval in old.approval_secrets:  # before `new` is put: what it keeps is put again
            batch.delete(self._key(b"a", approval))
        if new is None or new.deadline != old.deadline:
            batch.delete(self._time(old.deadline) + _encode(request_id))
        self._count -= 1
        self._awaiting -= old.head.awaits_person
        self._bytes -= len(old.value)

    def _named(self, key: bytes) -> str | None:
        with self._database.errors_named():
            found = self._rocks.get(key)
        return _decode(found) if found is not None else None

    def _key(self, kind: bytes, name: str) -> bytes:
        return self._number + kind + _encode(name)

    def _time(self, milliseconds: int) -> bytes:
        return self._number + b"d" + min(max(0, milliseconds), _LATEST).to_bytes(_TIME_BYTES, "big")


def _drop(database: Database, number: bytes) -> None:
    following = (int.from_bytes(number, "big") + 1).to_bytes(_NUMBER_BYTES, "big")
    with suppress(Exception):  # it is about space on the disk; whoever needs it will say so
        database.rocks.delete_range(number, following, database.without_log)


def _encode(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")  # JSON can name what UTF-8 cannot


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")


def _options() -> Options:
    """Memory: up to four write buffers, a cache of blocks, and of what is stored its bloom filters and sparse index."""
    blocks = BlockBasedOptions()
    blocks.set_block_cache(Cache(16 * _MB))
    blocks.set_bloom_filter(10, False)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    options.set_write_buffer_size(16 * _MB)
    options.set_max_write_buffer_number(4)
    options.set_memtable_prefix_bloom_ratio(0.1)  # of whole keys: most keys of a restore are new
    options.set_memtable_whole_key_filtering(True)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_max_background_jobs(2)
    options.set_max_open_files(256)
    # A restore writes everything at once. Compaction may come later: it must not hold up the event loop's writes.
    options.set_level_zero_slowdown_writes_trigger(1_000)
    options.set_level_zero_stop_writes_trigger(2_000)
    options.set_soft_pending_compaction_bytes_limit(0)
    options.set_hard_pending_compaction_bytes_limit(0)
    options.set_avoid_unnecessary_blocking_io(True)
    options.set_stats_dump_period_sec(0)
    options.set_keep_log_file_num(1)
    return options
