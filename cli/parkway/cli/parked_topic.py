"""`<ns>.parked` from its beginning to its end, record by record: nothing but what is asked for is kept."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from confluent_kafka.admin import AdminClient

from parkway.runtime.log_offsets import high_watermarks, log_beginnings
from parkway.runtime.log_reader import LogReadError, Place, read_up_to
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, cluster
from parkway.schemas.parked import ParkedError, ParkedKey, split_parked_key

Answer = TypeVar("Answer")

_READ_SECONDS: Final = 300.0  # a dead process's transaction holds it back for 40 by default
_ASK_SECONDS: Final = 10.0
_RETRY: Final = 0.1


@dataclass(frozen=True, slots=True)
class ParkedMessage:
    """A record of the topic. `value` is None for a tombstone; `written` is in milliseconds since 1970."""

    key: ParkedKey
    raw_key: bytes
    value: bytes | None
    partition: int
    offset: int
    written: int


def partitions_of(admin: AdminClient, settings: Settings, topic: str) -> list[int]:
    """The partitions of a topic. Raises TopologyError when it is not there."""
    found = cluster(admin, settings.bootstrap_servers).topics.get(topic)
    if found is None:
        quiet = "If so, no action parks anything; " if topic == settings.topics.parked else ""
        raise TopologyError(
            f"missing topic {topic}: is --namespace {settings.namespace} right? {quiet}"
            "`parkway topics apply --plan plan.json` creates what a plan needs"
        )
    return sorted(found.partitions)


def parked_messages(admin: AdminClient, settings: Settings) -> Iterator[ParkedMessage]:
    """Every committed record, up to the end that the topic had at the call; a partition's in their order.

    Raises TopologyError for a topic that is missing, LogReadError for one that cannot be read to its end.
    """
    topic = settings.topics.parked
    places = [(topic, number) for number in partitions_of(admin, settings, topic)]
    begins = answered(topic, lambda: log_beginnings(admin, places))
    ends = ends_of(admin, places)
    for message in read_up_to(settings, f"{settings.namespace}.parked", begins, ends, _READ_SECONDS):
        raw, partition, offset = message.key() or b"", message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        try:
            key = split_parked_key(raw)
        except ParkedError:
            continue  # a worker sends it to the DLQ
        yield ParkedMessage(key, raw, message.value(), partition, offset, message.timestamp()[1])


def ends_of(admin: AdminClient, places: list[Place]) -> dict[Place, int]:
    """(topic, partition) -> where it ends now. Raises LogReadError when no broker answers."""
    return answered(places[0][0], lambda: high_watermarks(admin, places))


def answered(topic: str, ask: Callable[[], Answer | None], seconds: float = _ASK_SECONDS) -> Answer:
    """Ask until there is an answer. Raises LogReadError after `seconds`."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        answer = ask()
        if answer is not None:
            return answer
        time.sleep(_RETRY)
    raise LogReadError(f"{topic}: Kafka gives no stable answer about its offsets in {seconds:g} s: look at the brokers")
