"""Calls that are made again while Kafka is not ready for them, as a process that starts beside it needs.

Probed with librdkafka 2.16: an admin call that only a controller answers (`describe_topics`, `create_topics`) fails
after its timeout with `_TIMED_OUT` and "Failed while waiting for controller" while the client has not heard of one: on
a machine under load, or in an election, for longer than ten seconds.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

from parkway.runtime.logs import get_logger

T = TypeVar("T")

_PAUSE: Final = 0.5
_PASSING: Final = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001  librdkafka's local codes
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.NOT_CONTROLLER,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.UNKNOWN_TOPIC_OR_PART,  # a broker that has not heard yet of a topic that is there
    }
)


class NotReadyError(Exception):
    """Kafka was not ready in its time. As far as one can tell nothing is set wrongly: another start may fare better."""


def passes(failure: KafkaException) -> bool:
    """Does this failure say that the brokers are not ready yet, and nothing else?"""
    error: KafkaError = failure.args[0]
    return error.retriable() or error.code() in _PASSING


def until_ready(what: str, call: Callable[[], T], bootstrap: str, seconds: float) -> T:
    """What `call` returns, when Kafka is ready for it; `what` it asks is said once when it is not, in the log.

    Raises NotReadyError after `seconds`, and at once any KafkaException that does not pass (missing rights).
    """
    give_up = time.monotonic() + seconds
    said = False
    while True:
        try:
            return call()
        except KafkaException as failure:
            if not passes(failure):
                raise
            reason = failure.args[0].str()
        left = give_up - time.monotonic()
        if left <= 0:
            raise NotReadyError(
                f"Kafka at {bootstrap} does not say {what} within {seconds:g} s ({reason}): look at its brokers and "
                "controllers, or raise PARKWAY_START_TIMEOUT"
            )
        if not said:
            said = True
            get_logger("kafka").warning(
                "kafka_not_ready_yet", bootstrap_servers=bootstrap, asked=what, reason=reason, at_most_seconds=seconds
            )
        time.sleep(min(_PAUSE, left))
