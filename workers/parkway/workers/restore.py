"""What a worker reads before it starts a partition: committed offsets, then parked records and state (DESIGN 7.2).

In this order, each step guarding the next:

1. the committed offsets of `action` and `resume`, until no transaction holds any of them pending;
2. the *high* watermark of `<ns>.parked`, of `<ns>.state`, or both, as far as the action uses them (a consumer's own
   answer is the last stable offset: stopping there would lose what an owner in between had committed);
3. those partitions, `read_committed`, until the position reaches it, however long a dead predecessor's open
   transaction holds it back. From its beginning, or from where an index that was kept stands (kept.py).

Runs on a thread of its own, with clients of its own, while the group's consumer goes on polling.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.runtime.clients import manual_consumer
from parkway.runtime.group_offsets import GroupOffsets, StableOffsets
from parkway.runtime.log_offsets import high_watermarks, log_beginnings
from parkway.runtime.logs import get_logger
from parkway.runtime.renewed_admin import RenewedAdmin
from parkway.runtime.settings import Settings
from parkway.schemas.plan import ActionPlan
from parkway.schemas.state import state_key
from parkway.workers.compacted import check, read_to_ends
from parkway.workers.completion import CommittedMap, Completion
from parkway.workers.entry_store import MakeStore
from parkway.workers.entry_store_memory import MemoryEntries
from parkway.workers.kept import Kept
from parkway.workers.parked_reader import ParkedReader
from parkway.workers.restored import Restored
from parkway.workers.work import Lane

Answer = TypeVar("Answer")

_RETRY: Final = 0.02
_ASK_SECONDS: Final = 1.0


class Restorer:
    """Restores partitions of one action: as much as the plan says that it keeps."""

    def __init__(
        self,
        settings: Settings,
        admin: AdminClient,
        *,
        planned: ActionPlan,
        topic_ids: dict[str, str],
        make_store: MakeStore = MemoryEntries,
        offsets: StableOffsets | None = None,
        open_reader: Callable[..., Consumer] = manual_consumer,
    ) -> None:
        """`offsets` are those of the action's group, and `open_reader` gives a consumer for `assign`: Kafka's ones."""
        self._settings = settings
        self._action = action = planned.name
        self._planned = planned
        self._topics = settings.topics
        self._topic_ids = topic_ids
        self._make_store = make_store
        self._own_state = state_key(action, b"")  # how keys of its state begin
        self._client_id = f"{settings.namespace}.restore.{action}"
        self._admin = RenewedAdmin(settings, self._client_id, admin)
        self._offsets = offsets or GroupOffsets(settings, self._client_id, settings.topics.worker_group(action))
        self._open_reader = open_reader
        self._log = get_logger("restore").bind(action=action)

    def restore(
        self, partitions: Sequence[int], kept: Mapping[int, Kept], cancelled: threading.Event
    ) -> dict[int, Restored]:
        """Restore these partitions, on top of what is kept of them. Raises RestoreCancelledError."""
        started = time.monotonic()
        restored = self._committed(partitions, cancelled)
        read = 0
        if partitions and (self._planned.parks or self._planned.keeps_steps):
            read += self._read_parked(restored, kept, cancelled)
        if partitions and self._planned.keeps_state:
            read += self._read_state(restored, kept, cancelled)
        self._log.info(
            "restored",
            partitions=len(partitions),
            parked=sum(len(one.entries) for one in restored.values()),
            steps=sum(len(one.steps) for one in restored.values()),
            state=sum(len(one.state) for one in restored.values()),
            read=read,
            caught_up_from={number: one.parked_from for number, one in restored.items() if one.parked_from},
            seconds=round(time.monotonic() - started, 3),
        )
        return restored

    def _committed(self, partitions: Sequence[int], cancelled: threading.Event) -> dict[int, Restored]:
        action_topic = self._topics.action(self._action)
        resume_topic = self._topics.resume(self._action) if self._planned.parks else None
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
        return _until_answered(lambda: self._admin.ask(ask), cancelled)

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
        ends = self._ends(self._topics.parked, restored, cancelled)
        for partition, one in restored.items():
            _start_from(one, kept.get(partition), ends[partition])
            if one.parked_from == 0:  # nothing is kept
                one.entries = self._make_store()
        reader = ParkedReader(self._action, restored)
        places = {partition: (one.parked_from, one.parked_upto) for partition, one in restored.items()}
        return read_to_ends(self._reader, self._topics.parked, places, reader.take, cancelled)

    def _read_state(self, restored: dict[int, Restored], kept: Mapping[int, Kept], cancelled: threading.Event) -> int:
        """Returns how many records were read. What they say is decoded when a handler asks for it."""
        ends = self._ends(self._topics.state, restored, cancelled)
        for partition, one in restored.items():
            here, end = kept.get(partition), ends[partition]
            one.state_upto = end
            if here is not None and here.state_upto <= end:  # else it is not the log that it was
                one.state, one.state_from = here.state, here.state_upto

        def take(messages: Sequence[Message]) -> None:
            for message in messages:
                key, partition = message.key() or b"", message.partition()
                assert partition is not None
                if key.startswith(self._own_state):
                    restored[partition].state.change(key.removeprefix(self._own_state), message.value())

        places = {partition: (one.state_from, one.state_upto) for partition, one in restored.items()}
        return read_to_ends(self._reader, self._topics.state, places, take, cancelled)

    def _reader(self, **extra: Any) -> Consumer:
        return self._open_reader(self._settings, self._client_id, **extra)

    def _ends(self, topic: str, partitions: Iterable[int], cancelled: threading.Event) -> dict[int, int]:
        """High watermarks by partition."""
        every = [(topic, partition) for partition in partitions]
        found = self._asked(lambda admin: high_watermarks(admin, every), cancelled)
        return {partition: end for (_, partition), end in found.items()}


def _start_from(restored: Restored, kept: Kept | None, end: int) -> None:
    restored.parked_upto = end
    if kept is not None and kept.upto <= end:  # else it is not the log that it was
        restored.entries = kept.entries
        restored.cancellations = dict(kept.cancellations)
        restored.steps = kept.steps
        restored.parked_from = kept.upto


def _until_answered(ask: Callable[[], Answer | None], cancelled: threading.Event) -> Answer:
    """Ask without limit: a restore that gave up would leave its partitions standing."""
    while True:
        check(cancelled)
        answer = ask()
        if answer is not None:
            return answer
        cancelled.wait(_RETRY)
