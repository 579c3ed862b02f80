"""Topics read from a time on, record by record: nothing but what is asked for is kept."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from confluent_kafka import Message, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.cli.parked_topic import answered, ends_of
from parkway.cli.partitioners import partitions_of_key
from parkway.cli.progress import progress
from parkway.runtime.clients import manual_consumer
from parkway.runtime.log_offsets import last_stable_offsets, log_beginnings
from parkway.runtime.log_reader import Place, read_up_to
from parkway.runtime.settings import Settings
from parkway.schemas.errors import ParkwayError

_ASK: Final = 30.0
_READ_SECONDS: Final = 120.0  # a dead process's transaction holds it back for 40 by default


class ScanError(ParkwayError):
    """A partition that there is not."""


def begins_at(settings: Settings, admin: AdminClient, places: Sequence[Place], since: int | None) -> dict[Place, int]:
    """Where records written at `since` (ms since 1970) or later begin; without it, where the partitions do."""
    if since is None or not places:
        return answered(places[0][0], lambda: log_beginnings(admin, places)) if places else {}
    consumer = manual_consumer(settings, f"{settings.namespace}.scan")
    try:
        found = consumer.offsets_for_times([TopicPartition(*place, since) for place in places], timeout=_ASK)
    finally:
        consumer.close()
    ends = ends_of(admin, list(places))
    return {
        (one.topic, one.partition): one.offset if one.offset >= 0 else ends[one.topic, one.partition] for one in found
    }


def stable_ends(admin: AdminClient, places: Sequence[Place]) -> dict[Place, int]:
    """How far these can be read now: to the first open transaction. Raises LogReadError."""
    return answered(places[0][0], lambda: last_stable_offsets(admin, places)) if places else {}


def held_back(admin: AdminClient, places: Sequence[Place]) -> list[Place]:
    """Those in which a transaction is open now: moments in a system that runs, longer where a process has died."""
    if not places:
        return []
    ends = ends_of(admin, list(places))
    stable = stable_ends(admin, places)  # asked second: a transaction that has ended by now is not open
    return [place for place, end in ends.items() if end > stable[place]]


def scan(
    settings: Settings, admin: AdminClient, places: Sequence[Place], since: int | None = None, what: str = "reading"
) -> Iterator[Message]:
    """The committed records of these partitions, as far as no open transaction holds them back. With a progress bar.

    A partition's come in order. Raises LogReadError when one cannot be read to its end.
    """
    if not places:
        return
    begins, ends = begins_at(settings, admin, places, since), stable_ends(admin, places)
    total = sum(max(0, ends[place] - begin) for place, begin in begins.items())
    read = 0
    with progress(what, total) as advance:
        for message in read_up_to(settings, f"{settings.namespace}.scan", begins, ends, _READ_SECONDS):
            read += 1
            if read % 1000 == 0:
                advance(1000)
            yield message


def chosen_partitions(partition: int | None, key: str | None, there: Sequence[int], topic: str) -> list[int]:
    """The partitions to look at: one that is known, those that a key can be in, or all. Raises ScanError."""
    if partition is not None:
        if partition not in there:
            raise ScanError(f"--partition {partition}: {topic} has {len(there)} (0 to {len(there) - 1})")
        return [partition]
    if key is not None:
        return partitions_of_key(key.encode(), len(there))
    return list(there)


def ago(seconds: float) -> int:
    """Milliseconds since 1970 (UTC), so many seconds ago."""
    return int((time.time() - seconds) * 1000)
