"""librdkafka configurations: one place decides what a consumer, a producer, an admin client is set to."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from parkway.runtime import kafka_logs
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings, SettingsError

_NO_RIGHTS = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED})

Client = TypeVar("Client")

# The largest record that we ever produce: the DLQ's (`topics apply` sets the broker's side).
MAX_RECORD_BYTES = 4_300_000


def _made(make: Callable[[dict[str, Any]], Client], config: dict[str, Any]) -> Client:
    """Make a client. Raises SettingsError for a setting that librdkafka does not take."""
    try:
        return make(config)
    except KafkaException as failure:
        raise SettingsError(f"-X (or PARKWAY_KAFKA_...): {failure.args[0].str()}") from None


def _common(settings: Settings, client_id: str) -> dict[str, Any]:
    log = get_logger("kafka").bind(client=client_id)

    def on_error(error: KafkaError) -> None:
        # librdkafka reconnects by itself; what it cannot mend comes back from the call that it breaks.
        log.debug("kafka_client_error", code=error.name(), reason=error.str())

    return {
        **settings.kafka,
        "bootstrap.servers": settings.bootstrap_servers,
        "client.id": client_id,
        "error_cb": on_error,
        "log_level": int(settings.kafka.get("log_level", "2")),  # its warnings repeat what calls tell us
    }


# librdkafka stops fetching at `queued.min.messages` (or 64 MB) and looks again after a whole second by default: a
# consumer that is slower than the broker has emptied its queue long before, and waits.
_FETCH_AGAIN: Final = {"fetch.queue.backoff.ms": 20}


def _session(settings: Settings) -> dict[str, Any]:
    """No consumer takes a session timeout above `max.poll.interval.ms`, which is five minutes by default."""
    milliseconds = int(settings.session_timeout * 1000)
    poll_interval = settings.kafka.get("max.poll.interval.ms", max(300_000, milliseconds))
    return {"session.timeout.ms": milliseconds, "max.poll.interval.ms": poll_interval}


def _logging(settings: Settings) -> dict[str, Any]:
    """For a client that polls: its warnings become lines of our logs."""
    return {
        "logger": kafka_logs.kafka_logger(debug="debug" in settings.kafka),
        "log_level": int(settings.kafka.get("log_level", kafka_logs.WARNING)),
    }


def group_consumer(settings: Settings, client_id: str, group: str, **extra: Any) -> Consumer:
    """A consumer that joins `group`: classic protocol, `range`, read_committed, never commits by itself.

    `range` gives partition p of every subscribed topic to one member, and stalled least in our probes.
    """
    return _made(
        Consumer,
        {
            "queued.min.messages": 20_000,
            "fetch.wait.max.ms": 100,
            # Partitions that were added, and topics that were deleted or made anew, are noticed then; by default
            # after five minutes, and until then without a word.
            "topic.metadata.refresh.interval.ms": 30_000,
            **_FETCH_AGAIN,
            **_common(settings, client_id),
            **_logging(settings),
            "group.id": group,
            "group.protocol": "classic",
            "partition.assignment.strategy": "range",
            **_session(settings),
            "heartbeat.interval.ms": max(300, int(settings.session_timeout * 1000 / 10)),
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            **extra,
        },
    )


def manual_consumer(settings: Settings, client_id: str, **extra: Any) -> Consumer:
    """A read_committed consumer for `assign` only; its group id is required and never used."""
    return _made(
        Consumer,
        {
            "fetch.wait.max.ms": 100,
            **_FETCH_AGAIN,
            **_common(settings, client_id),
            "group.id": f"{settings.namespace}.unused",
            **_session(settings),  # never used, and checked all the same
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            **extra,
        },
    )


def transactional_producer(
    settings: Settings,
    transactional_id: str,
    on_delivery: Callable[[KafkaError | None, Any], None],
    *,
    only_failures: bool = False,
) -> Producer:
    """A producer for transactions; `on_delivery(error, message)` runs for every record, or for refused ones only."""
    return _made(
        Producer,
        {
            # A lone record must not wait for others: 5 ms cost a chat, which is two transactions in a row, 2 to 4 ms of
            # its 20 although `flush` follows at once. Many records fill their batches all the same.
            "linger.ms": 0,
            "queue.buffering.max.messages": 1_000_000,
            "retry.backoff.ms": 10,  # the next transaction waits out CONCURRENT_TRANSACTIONS in steps of this
            "retry.backoff.max.ms": 10,
            # Of topics that are not ours, the only ones whose partitions are not explicit: as Java's producers do.
            "partitioner": "murmur2_random",
            # Its re-bootstrap forgets the coordinators, and calls that wait for one hang: see watchdog.py.
            "metadata.recovery.strategy": "none",
            **_common(settings, transactional_id),
            **_logging(settings),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": int(settings.transaction_timeout * 1000),
            "message.max.bytes": MAX_RECORD_BYTES,
            "delivery.report.only.error": only_failures,
            "on_delivery": on_delivery,
        },
    )


def plain_producer(settings: Settings, client_id: str, extra: Mapping[str, Any] | None = None) -> Producer:
    """An idempotent producer without transactions, as any outside producer uses."""
    return _made(Producer, {**_common(settings, client_id), "enable.idempotence": True, **(extra or {})})


def admin_client(settings: Settings, client_id: str) -> AdminClient:
    return _made(AdminClient, _common(settings, client_id))


def check_consumer_error(error: KafkaError) -> None:
    """Raise for what goes on for ever: SettingsError for a setting that the broker refuses, else KafkaException."""
    if error.code() == KafkaError.INVALID_SESSION_TIMEOUT:
        raise SettingsError(
            "PARKWAY_SESSION_TIMEOUT is outside what the broker allows "
            "(its group.min.session.timeout.ms, 6 s by default, to group.max.session.timeout.ms)"
        )
    if error.fatal() or error.code() in _NO_RIGHTS:
        raise KafkaException(error)
