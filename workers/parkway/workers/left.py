"""What an action still has to do: records that are not completed, and parked requests. For `parkway plan apply`.

Asked in this order: committed offsets with their completion maps, the ends of the topics, the records between, and
then what is parked. When the router sends an action nothing new, nothing that this misses can come into being:
a continuation needs a parked entry, and an entry a record that was not completed.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.log_offsets import high_watermarks, log_beginnings
from parkway.runtime.log_reader import LogReadError, Place, read_up_to
from parkway.runtime.settings import Settings
from parkway.runtime.topology import cluster, topic_ids
from parkway.schemas.parked import ParkedError, ParkedKind, split_parked_key
from parkway.schemas.plan import ActionPlan
from parkway.workers.completion import Completion

Answer = TypeVar("Answer")

_ASK_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 45.0  # a dead worker's transaction holds its offsets back for its timeout, and 10 s
_READ_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Left:
    """Of one action: records of its two topics that no worker has completed, and requests that it has parked."""

    action: str
    new: int
    continuations: int
    parked: int

    def __bool__(self) -> bool:
        return bool(self.new or self.continuations or self.parked)

    def __str__(self) -> str:
        return f"{self.new} records not handled, {self.parked} parked requests, {self.continuations} continuations"


def what_is_left(settings: Settings, admin: AdminClient, actions: Sequence[ActionPlan]) -> list[Left]:
    """Count, for each action. Reads all of `<ns>.parked` when one of them parks; keeps keys, no values.

    Raises TopologyError when no broker answers, LogReadError when offsets or records cannot be read in time.
    """
    topics = settings.topics
    existing = cluster(admin, settings.bootstrap_servers).topics
    counted: dict[str, tuple[int, int]] = {}
    for action in actions:
        names = [topics.action(action.name), topics.resume(action.name)]
        places = {name: [(name, one) for one in existing[name].partitions] for name in names if name in existing}
        unfinished = _unfinished(settings, admin, action.name, places) if places else {}
        counted[action.name] = (unfinished.get(names[0], 0), unfinished.get(names[1], 0))
    parking = {action.name for action in actions if action.parks}
    partitions = existing[topics.parked].partitions if topics.parked in existing and parking else ()
    parked = _parked(settings, admin, [(topics.parked, one) for one in partitions], parking)
    return [Left(name, *counts, parked.get(name, 0)) for name, counts in counted.items()]


def _unfinished(
    settings: Settings, admin: AdminClient, action: str, places: Mapping[str, Sequence[Place]]
) -> dict[str, int]:
    """Topic -> records that are neither below the committed offset nor completed in its map."""
    client_id = f"{settings.namespace}.left.{action}"
    every = [place for each in places.values() for place in each]
    offsets = GroupOffsets(settings, client_id, settings.topics.worker_group(action))
    try:
        wanted = [TopicPartition(*place) for place in every]
        committed = _answer(f"offsets of {action}", lambda: offsets.committed(wanted, _ASK_SECONDS))
    finally:
        offsets.close()
    beginnings = _answer(f"beginnings of {action}", lambda: log_beginnings(admin, every))
    ends = _answer(f"ends of {action}", lambda: high_watermarks(admin, every))
    ids = topic_ids(admin, list(places))
    begins: dict[Place, int] = {}
    completions: dict[Place, Completion] = {}
    for place, one in zip(every, committed, strict=True):
        inside = beginnings[place] <= one.offset <= ends[place]
        begins[place] = one.offset if inside else beginnings[place]
        metadata = one.metadata if inside else None
        completions[place], _, _ = Completion.restore(ids[place[0]], begins[place], metadata)
    counts = dict.fromkeys(places, 0)
    for message in read_up_to(settings, client_id, begins, ends, _READ_SECONDS):
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        counts[topic] += completions[topic, partition].is_unfinished(offset)
    return counts


def _parked(settings: Settings, admin: AdminClient, places: Sequence[Place], actions: Iterable[str]) -> dict[str, int]:
    """Action -> live entries."""
    live: dict[str, set[bytes]] = {name: set() for name in actions}
    beginnings = _answer("beginnings of parked", lambda: log_beginnings(admin, places))
    ends = _answer("ends of parked", lambda: high_watermarks(admin, places))
    for message in read_up_to(settings, f"{settings.namespace}.left", beginnings, ends, _READ_SECONDS):
        key = message.key() or b""
        try:
            _, action, kind = split_parked_key(key)
        except ParkedError:
            continue  # nobody's
        keys = live.get(action) if kind is ParkedKind.REQUEST else None
        if keys is not None and message.value() is None:
            keys.discard(key)
        elif keys is not None:
            keys.add(key)
    return {name: len(keys) for name, keys in live.items()}


def _answer(what: str, ask: Callable[[], Answer | None]) -> Answer:
    give_up = time.monotonic() + _ANSWER_SECONDS
    while time.monotonic() < give_up:
        answer = ask()
        if answer is not None:
            return answer
        time.sleep(0.1)
    raise LogReadError(f"no stable answer about the {what} within {_ANSWER_SECONDS:g} s: look at the brokers")
