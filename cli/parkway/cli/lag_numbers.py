"""What routers and workers still have to do, counted from outside."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.cli.groups import Group, groups_of
from parkway.cli.parked_topic import answered
from parkway.cli.positions import Position, positions_of
from parkway.cli.scan import stable_ends
from parkway.runtime.clients import manual_consumer
from parkway.runtime.log_offsets import log_beginnings
from parkway.runtime.log_reader import LogReadError, Place, read_up_to
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, cluster
from parkway.schemas.parked import ParkedError, ParkedKind, split_parked_key

_FIRST_SECONDS: Final = 5.0
_READ_SECONDS: Final = 300.0
_EXACT_OFFSETS: Final = 20_000  # so many are read


@dataclass(slots=True)
class Waiting:
    """Of one group: by partition of each topic what is not completed, and when its oldest record was written (ms)."""

    name: str  # of the action; of the routers `router`
    group: Group | None
    behind: dict[Place, int]
    exact: bool = True  # False: of those not taken yet, every transaction counts as a record
    oldest: dict[Place, int] = field(default_factory=dict)
    parked: dict[int, int] = field(default_factory=dict)

    def total(self, topic: str | None = None) -> int:
        return sum(count for (name, _), count in self.behind.items() if topic in (None, name))

    def oldest_of(self, partition: int | None = None) -> int | None:
        times = [time for (_, number), time in self.oldest.items() if partition in (None, number)]
        return min(times, default=None)


class ParkedCounts:
    """How many requests of each action are parked in each partition. Keeps keys; reads on where it ended."""

    def __init__(self, settings: Settings, admin: AdminClient, partitions: Iterable[int]) -> None:
        self._settings = settings
        self._admin = admin
        self._places = [(settings.topics.parked, number) for number in partitions]
        self._live: dict[str, set[tuple[int, bytes]]] = {}
        self._next: dict[Place, int] = {}

    def left(self) -> int:
        """Offsets that `update` will read."""
        self._next = self._next or answered(self._places[0][0], lambda: log_beginnings(self._admin, self._places))
        ends = stable_ends(self._admin, self._places)
        return sum(max(0, ends[place] - begin) for place, begin in self._next.items())

    def update(self, advance: Callable[[int], None] = lambda _: None) -> None:
        ends = stable_ends(self._admin, self._places)
        client_id = f"{self._settings.namespace}.lag"
        for message in read_up_to(self._settings, client_id, self._next, ends, _READ_SECONDS):
            advance(1)
            raw, partition = message.key() or b"", message.partition()
            assert partition is not None
            try:
                key = split_parked_key(raw)
            except ParkedError:
                continue
            if key.kind is not ParkedKind.REQUEST:
                continue
            live = self._live.setdefault(key.action, set())
            if message.value() is None:
                live.discard((partition, raw))
            else:
                live.add((partition, raw))
        self._next = {place: max(ends[place], begin) for place, begin in self._next.items()}

    def of(self, action: str) -> dict[int, int]:
        """Partition -> parked requests of this action."""
        counts: dict[int, int] = {}
        for partition, _ in self._live.get(action, ()):
            counts[partition] = counts.get(partition, 0) + 1
        return counts


class LagReader:
    """Counts again and again. `sources`: topics of others that routers read. Not thread safe.

    Raises TopologyError when there is no such installation.
    """

    def __init__(self, settings: Settings, admin: AdminClient, sources: Iterable[str] = ()) -> None:
        topics = settings.topics
        existing = cluster(admin, settings.bootstrap_servers).topics
        if topics.requests not in existing:
            raise TopologyError(
                f"missing topic {topics.requests}: is --namespace {settings.namespace} right? "
                "`parkway topics apply --plan plan.json` creates the topics"
            )
        self._settings = settings
        self._admin = admin
        self._counts = {name: sorted(topic.partitions) for name, topic in existing.items()}
        self.partitions = self._counts[topics.requests]
        prefix = topics.action("")
        self.actions = sorted(name.removeprefix(prefix) for name in existing if name.startswith(prefix))
        self.routed = [name for name in (topics.requests, topics.events, *sources) if name in existing]
        self.parked: ParkedCounts | None = None
        if topics.parked in existing:
            self.parked = ParkedCounts(settings, admin, self._counts[topics.parked])

    def read(self) -> list[Waiting]:
        """The routers first, then the actions."""
        topics = self._settings.topics
        lanes = {"router": (topics.router_group, self.routed)}
        for action in self.actions:
            names = [name for name in (topics.action(action), topics.resume(action)) if name in self._counts]
            lanes[action] = (topics.worker_group(action), names)
        groups = groups_of(self._settings, [group for group, _ in lanes.values()])
        with ThreadPoolExecutor(8) as pool:  # each waits for Kafka
            positions = list(pool.map(self._positions, lanes.values()))
        exact = _records(self._settings, [place for each in positions for place in each.items()])
        oldest = _written(self._settings, {place: one for each in positions for place, one in _firsts(each).items()})
        found = []
        for (name, (group, _)), each in zip(lanes.items(), positions, strict=True):
            one = Waiting(name, groups.get(group), {}, exact=exact is not None)
            for place, position in each.items():
                one.behind[place] = position.behind if exact is None else len(position.open) + exact.get(place, 0)
            one.oldest = {place: oldest[place] for place, behind in one.behind.items() if behind and place in oldest}
            if self.parked is not None and name != "router":
                one.parked = self.parked.of(name)
            found.append(one)
        return found

    def _positions(self, lane: tuple[str, list[str]]) -> dict[Place, Position]:
        group, names = lane
        places = [(topic, number) for topic in names for number in self._counts[topic]]
        return positions_of(self._settings, self._admin, group, places)


def _records(settings: Settings, positions: Sequence[tuple[Place, Position]]) -> dict[Place, int] | None:
    """Records that nobody has taken: not all offsets are records. None when that is too much to read."""
    begins = {place: one.reach for place, one in positions if one.reach < one.end}
    ends = {place: one.end for place, one in positions}
    if sum(ends[place] - begin for place, begin in begins.items()) > _EXACT_OFFSETS:
        return None
    counts: Counter[Place] = Counter()
    try:
        for message in read_up_to(settings, f"{settings.namespace}.lag", begins, ends, _FIRST_SECONDS):
            counts[message.topic() or "", message.partition() or 0] += 1
    except LogReadError:  # such as a dead process's transaction
        return None
    return counts


def _firsts(positions: Mapping[Place, Position]) -> dict[Place, int]:
    return {place: first for place, one in positions.items() if (first := one.first_open) is not None}


def _written(settings: Settings, firsts: Mapping[Place, int]) -> dict[Place, int]:
    """When the first committed record at or after each offset was written; one record of each partition is fetched."""
    if not firsts:
        return {}
    found: dict[Place, int] = {}
    few = {"queued.min.messages": 1, "fetch.message.max.bytes": 1024, "enable.partition.eof": True}
    consumer = manual_consumer(settings, f"{settings.namespace}.lag", **few)
    left = set(firsts)
    give_up = time.monotonic() + _FIRST_SECONDS
    try:
        consumer.assign([TopicPartition(*place, offset) for place, offset in firsts.items()])
        while left and time.monotonic() < give_up:
            for message in consumer.consume(500, 0.1):
                topic, partition = message.topic(), message.partition()
                if topic is None or partition is None or (topic, partition) not in left:
                    continue
                left.discard((topic, partition))
                if message.error() is None:
                    found[topic, partition] = message.timestamp()[1]
    finally:
        consumer.close()
    return found
