"""`<ns>.plans`: the plan in force is the last record under the namespace's name (DESIGN 3)."""

import time
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.runtime.clients import MAX_RECORD_BYTES, manual_consumer, plain_producer
from parkway.runtime.log_offsets import high_watermarks, log_beginnings
from parkway.runtime.log_reader import read_up_to
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, cluster
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan, PlanError

_SECONDS: Final = 30.0
_PAUSE: Final = 0.1


class PlanLogError(ParkwayError):
    """The plan topic cannot be read or written; the message says why."""


@dataclass(frozen=True, slots=True)
class Published:
    """A record of the plan topic: its plan, or why it is none."""

    offset: int
    plan: Plan | None
    problem: str | None = None


def published(message: Message, namespace: str) -> Published | None:
    """What a record of the plan topic says; None when it is under another key."""
    offset = message.offset()
    assert offset is not None
    if message.key() != namespace.encode():
        return None
    value = message.value()
    if value is None:
        return Published(offset, None, "it was deleted (a record without a value)")
    try:
        return Published(offset, Plan.from_json(value, source=f"{message.topic()} at offset {offset}"))
    except PlanError as error:
        return Published(offset, None, str(error))


def plan_consumer(settings: Settings, client_id: str, offset: int) -> Consumer:
    """A consumer of the plan topic, from `offset` on. It belongs to the calling thread."""
    consumer = manual_consumer(settings, client_id)
    consumer.assign([TopicPartition(settings.topics.plans, 0, offset)])
    return consumer


def read_plans(settings: Settings, admin: AdminClient, client_id: str) -> tuple[list[Published], int]:
    """What the plan topic holds now, oldest first, and the offset after it.

    Raises TopologyError when there is no such topic or no broker, PlanLogError or LogReadError when it cannot be
    read to its end.
    """
    topic = settings.topics.plans
    if topic not in cluster(admin, settings.bootstrap_servers).topics:
        raise TopologyError(
            f"missing topic {topic}: run `parkway topics apply --plan plan.json`, then `parkway plan apply plan.json`"
        )
    begin, end = _bounds(admin, topic)
    messages = read_up_to(settings, client_id, {(topic, 0): begin}, {(topic, 0): end}, _SECONDS)
    found = [published(message, settings.namespace) for message in messages]
    return [one for one in found if one is not None], end


def publish_plan(settings: Settings, client_id: str, plan: Plan) -> int:
    """Put `plan` in force; returns its offset. Raises PlanLogError when Kafka refuses it."""
    topic = settings.topics.plans
    producer = plain_producer(
        settings,
        client_id,
        {"acks": "all", "message.max.bytes": MAX_RECORD_BYTES, "delivery.timeout.ms": int(_SECONDS * 1000)},
    )
    offsets: list[int] = []
    failures: list[str] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error.str())
        else:
            offsets.append(message.offset() or 0)

    try:
        producer.produce(topic, plan.to_json(), settings.namespace, 0, on_delivery=on_delivery)
    except KafkaException as failure:
        raise PlanLogError(f"{topic}: the plan is not published: {failure.args[0].str()}") from None
    producer.flush(_SECONDS + 5)
    if not offsets:
        raise PlanLogError(f"{topic}: the plan is not published: {failures[0] if failures else 'no answer in time'}")
    return offsets[0]


def _bounds(admin: AdminClient, topic: str) -> tuple[int, int]:
    give_up = time.monotonic() + _SECONDS
    while time.monotonic() < give_up:
        beginnings, ends = log_beginnings(admin, [(topic, 0)]), high_watermarks(admin, [(topic, 0)])
        if beginnings is not None and ends is not None:
            return beginnings[topic, 0], ends[topic, 0]
        time.sleep(_PAUSE)
    raise PlanLogError(f"{topic}: no answer about its offsets within {_SECONDS:g} s: look at the brokers")
