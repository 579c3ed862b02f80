"""What a worker reads before it starts a partition: committed offsets, then the parked records (DESIGN 7.2).

In this order, each step guarding the next:

1. the committed offsets of `action` and `resume`, until no transaction holds any of them pending;
2. the *high* watermark of `<ns>.parked` (a consumer's own answer is the last stable offset: stopping there
   would lose what an owner in between had committed);
3. that partition, `read_committed`, until the position reaches it, however long a dead predecessor's open
   transaction holds it back. From its beginning, or from where an index that was kept stands (kept.py).

Runs on a thread of its own, with clients of its own, while the group's consumer goes on polling. Probed on Kafka 4.4
with librdkafka 2.16: a position passes control records and aborted ones; an empty partition gives no position
but an end-of-partition event with its offset.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from confluent_kafka import KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.runtime.clients import admin_client, manual_consumer
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.log_offsets import high_watermarks, log_beginnings
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings
from parkway.schemas.parked import ParkedCancellation, ParkedError, ParkedKind, parked_key, split_parked_key
from parkway.workers.completion import CommittedMap, Completion
from parkway.workers.entry import Entry
from parkway.workers.entry_store import EntryStore, MakeStore, MemoryEntries
from parkway.workers.kept import Kept
from parkway.workers.marks import Marks
from parkway.workers.work import Lane

Answer = TypeVar("Answer")
Changes = dict[str, Entry | None]  # by request id; None: its end

_RETRY: Final = 0.02
_ASK_SECONDS: Final = 1.0
_STUCK_SECONDS: Final = 30.0


class RestoreCancelledError(Exception):
    """The assignment ended while its restore ran."""


@dataclass(slots=True)
class BrokenEntry:
    """A parked record that cannot be decoded: it goes to the DLQ, with a tombstone."""

    key: bytes
    value: bytes
    offset: int
    reason: str


@dataclass(slots=True)
class Restored:
    """One partition, ready to start."""

    lanes: dict[Lane, Completion]
    stamps: dict[Lane, str]  # of the committed maps
    number: int  # of the newest of them
    entries: EntryStore = field(default_factory=MemoryEntries)
    cancellations: dict[bytes, ParkedCancellation] = field(default_factory=dict)  # of requests that have not come
    broken: list[BrokenEntry] = field(default_factory=list)
    marks: dict[Lane, Marks] = field(default_factory=dict)
    ends: dict[Lane, int] = field(default_factory=dict)  # high watermarks: nothing beyond was taken by anyone
    parked_from: int = 0  # where reading of `parked` began
    parked_upto: int = 0  # what lies below this offset is in `entries`


class Restorer:
    """Restores partitions of one action. `resume_topic` None: the action parks nothing."""

    def __init__(
        self,
        settings: Settings,
        admin: AdminClient,
        *,
        action: str,
        topic_ids: dict[str, str],
        parks: bool,
        make_store: MakeStore = MemoryEntries,
    ) -> None:
        self._settings = settings
        self._admin = admin
        self._stuck: list[AdminClient] = []  # kept: to destroy one whose broker is gone can hang
        self._action = action
        self._topics = settings.topics
        self._topic_ids = topic_ids
        self._parks = parks
        self._make_store = make_store
        self._own = parked_key("", action)  # how keys of its requests end
        client_id = f"{settings.namespace}.restore.{action}"
        self._offsets = GroupOffsets(settings, client_id, settings.topics.worker_group(action))
        self._log = get_logger("restore").bind(action=action)

    def restore(
        self, partitions: Sequence[int], kept: Mapping[int, Kept], cancelled: threading.Event
    ) -> dict[int, Restored]:
        """Restore these partitions, on top of what is kept of them. Raises RestoreCancelledError."""
        started = time.monotonic()
        restored = self._committed(partitions, cancelled)
        read = self._read_parked(restored, kept, cancelled) if self._parks and partitions else 0
        self._log.info(
            "restored",
            partitions=len(partitions),
            parked=sum(len(one.entries) for one in restored.values()),
            read=read,
            caught_up_from={number: one.parked_from for number, one in restored.items() if one.parked_from},
            seconds=round(time.monotonic() - started, 3),
        )
        return restored

    def _committed(self, partitions: Sequence[int], cancelled: threading.Event) -> dict[int, Restored]:
        action_topic = self._topics.action(self._action)
        resume_topic = self._topics.resume(self._action) if self._parks else None
        wanted = [
            TopicPartition(topic, partition)
            for topic in (action_topic, resume_topic)
            if topic is not None
            for partition in partitions
        ]
        found = self._stable_offsets(wanted, cancelled) if wanted else {}
        restored = {}
        for partition in partitions:
            places = {Lane.NEW: found[action_topic, partition]}
            if resume_topic is not None:
                places[Lane.RESUME] = found[resume_topic, partition]
            lanes = {lane: self._completion(committed, beginning) for lane, (committed, beginning, _) in places.items()}
            maps = {lane: committed for lane, (_, committed) in lanes.items() if committed is not None}
            restored[partition] = Restored(
                {lane: completion for lane, (completion, _) in lanes.items()},
                {lane: committed.stamp for lane, committed in maps.items()},
                max((committed.number for committed in maps.values()), default=0),
                marks={lane: committed.marks for lane, committed in maps.items()},
                ends={lane: end for lane, (_, _, end) in places.items()},
            )
        return restored

    def _stable_offsets(
        self, wanted: list[TopicPartition], cancelled: threading.Event
    ) -> dict[tuple[str, int], tuple[TopicPartition, int, int]]:
        """Committed offsets with the log's beginnings and ends; a beginning where nothing (usable) is committed."""
        committed = _until_answered(lambda: self._offsets.committed(wanted, _ASK_SECONDS), cancelled)
        places = [(one.topic, one.partition) for one in committed]
        beginnings = self._asked(lambda admin: log_beginnings(admin, places), cancelled)
        ends = self._asked(lambda admin: high_watermarks(admin, places), cancelled)
        found = {}
        for place, one in zip(places, committed, strict=True):
            beginning, end = beginnings[place], ends[place]
            if one.offset > end:
                # Of another log than this one: restored from a backup, made again, set by a tool.
                self._warn_outside(one, beginning, end, "everything that is there is taken")
            elif 0 <= one.offset < beginning:
                self._warn_outside(one, beginning, end, "records are lost: the topic's retention is too short")
            if one.offset < 0 or one.offset > end:
                one = TopicPartition(one.topic, one.partition, beginning)  # noqa: PLW2901
            found[place] = (one, beginning, end)
        return found

    def _asked(self, ask: Callable[[AdminClient], Answer | None], cancelled: threading.Event) -> Answer:
        """Ask without limit. Some clients never find a broker again that stood still: then a new one is asked."""
        began = time.monotonic()
        while True:
            _check(cancelled)
            answer = ask(self._admin)
            if answer is not None:
                return answer
            if time.monotonic() - began > _STUCK_SECONDS:
                self._log.warning("client_made_anew", after_seconds=_STUCK_SECONDS, reason="no answer about offsets")
                self._stuck.append(self._admin)
                self._admin = admin_client(self._settings, f"{self._settings.namespace}.restore.{self._action}")
                began = time.monotonic()
            cancelled.wait(_RETRY)

    def _warn_outside(self, committed: TopicPartition, beginning: int, end: int, consequence: str) -> None:
        self._log.warning(
            "committed_offset_outside_the_log",
            topic=committed.topic,
            partition=committed.partition,
            committed=committed.offset,
            log=f"{beginning} to {end}",
            consequence=consequence,
        )

    def _completion(self, committed: TopicPartition, beginning: int) -> tuple[Completion, CommittedMap | None]:
        completion, found, ignored = Completion.restore(
            self._topic_ids[committed.topic], committed.offset, committed.metadata
        )
        if ignored is not None:
            self._log.warning(
                "completion_map_ignored",
                topic=committed.topic,
                partition=committed.partition,
                reason=ignored,
                consequence="records above the committed offset run (again)",
            )
        completion.advance(beginning)  # the consumer's own way out would be to begin anew, unseen
        return completion, found

    def _read_parked(self, restored: dict[int, Restored], kept: Mapping[int, Kept], cancelled: threading.Event) -> int:
        """Returns how many records were read."""
        topic = self._topics.parked
        every = [(topic, partition) for partition in restored]
        ends = self._asked(lambda admin: high_watermarks(admin, every), cancelled)
        for partition, one in restored.items():
            _start_from(one, kept.get(partition), ends[topic, partition])
            if one.parked_from == 0:  # nothing is kept
                one.entries = self._make_store()
        left = {
            partition: ends[topic, partition]
            for partition, one in restored.items()
            if one.parked_from < ends[topic, partition]
        }
        read = 0
        if not left:
            return read
        consumer = manual_consumer(
            self._settings,
            f"{self._settings.namespace}.restore.{self._action}",
            **{"enable.partition.eof": True, "fetch.wait.max.ms": 10, "queued.min.messages": 100_000},
        )
        try:
            consumer.assign([TopicPartition(topic, partition, restored[partition].parked_from) for partition in left])
            while left:
                _check(cancelled)
                messages = consumer.consume(5_000, 0.05)
                read += len(messages)
                changes: dict[int, Changes] = {partition: {} for partition in restored}
                for message in messages:
                    self._apply(message, restored, left, changes)
                for partition, changed in changes.items():
                    if changed:
                        restored[partition].entries.change(changed)
                for position in consumer.position([TopicPartition(topic, partition) for partition in left]):
                    if position.offset >= left[position.partition]:
                        del left[position.partition]
        finally:
            consumer.close()
        return read

    def _apply(
        self, message: Message, restored: dict[int, Restored], left: dict[int, int], changes: dict[int, Changes]
    ) -> None:
        error = message.error()
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        if error is not None:
            if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001  librdkafka's local codes
                self._log.warning("parked_read_error", code=error.name(), detail=error.str())
            elif offset >= left.get(partition, offset + 1):
                del left[partition]
            return
        key, value = message.key() or b"", message.value()
        here = restored[partition]
        try:
            request_id, action, kind = self._split(key)
            if action != self._action:
                return
            if here.broken:
                here.broken = [broken for broken in here.broken if broken.key != key]
            if kind is not ParkedKind.REQUEST:
                here.cancellations.pop(key, None)
                if value is not None:
                    here.cancellations[key] = ParkedCancellation.from_json(value)
                return
            changed = changes[partition]
            changed[request_id] = None  # what was there before a record that is broken is gone too
            if value is not None:
                changed[request_id] = _entry(request_id, value)
        except ParkedError as failure:
            if value is not None:
                here.broken.append(BrokenEntry(key, value, offset, str(failure)))

    def _split(self, key: bytes) -> tuple[str, str, ParkedKind]:
        """As `split_parked_key`, which takes longer."""
        if key.endswith(self._own) and len(key) > len(self._own) and key.isascii():
            return key[: -len(self._own)].decode(), self._action, ParkedKind.REQUEST
        return split_parked_key(key)


def _start_from(restored: Restored, kept: Kept | None, end: int) -> None:
    restored.parked_upto = end
    if kept is not None and kept.upto <= end:  # else it is not the log that it was
        restored.entries = kept.entries
        restored.cancellations = dict(kept.cancellations)
        restored.parked_from = kept.upto


def _entry(request_id: str, value: bytes) -> Entry:
    entry = Entry.read(value)
    if entry.request_id != request_id:
        raise ParkedError(f"parked record of {entry.request_id!r} under the key of {request_id!r}")
    return entry


def _until_answered(ask: Callable[[], Answer | None], cancelled: threading.Event) -> Answer:
    """Ask without limit: a restore that gave up would leave its partitions standing."""
    while True:
        _check(cancelled)
        answer = ask()
        if answer is not None:
            return answer
        cancelled.wait(_RETRY)


def _check(cancelled: threading.Event) -> None:
    if cancelled.is_set():
        raise RestoreCancelledError
