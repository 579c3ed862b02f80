import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from parkway.runtime.not_ready import NotReadyError, until_ready
from parkway.runtime.topology import TopologyError, cluster

NO_CONTROLLER = KafkaException(KafkaError(KafkaError._TIMED_OUT, "Failed while waiting for controller"))
NO_RIGHT = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "no"))


def failing(times: int, failure: KafkaException) -> Callable[[], str]:
    left = [failure] * times

    def call() -> str:
        if left:
            raise left.pop()
        return "answer"

    return call


def test_a_call_is_made_again_until_there_is_a_controller(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert until_ready("the ids of its topics", failing(2, NO_CONTROLLER), "kafka:1", 30) == "answer"
    (line,) = caplog.messages
    assert all(part in line for part in ("kafka_not_ready_yet", "kafka:1", "the ids of its topics", "controller"))


def test_it_is_not_made_for_ever() -> None:
    with pytest.raises(NotReadyError, match=r"Kafka at kafka:1 does not say the ids within 0.1 s \(Failed while"):
        until_ready("the ids", failing(1_000, NO_CONTROLLER), "kafka:1", 0.1)


def test_what_does_not_pass_is_raised_at_once() -> None:
    calls: list[Any] = []

    def call() -> None:
        calls.append(None)
        raise NO_RIGHT

    with pytest.raises(KafkaException):
        until_ready("the ids", call, "kafka:1", 30)
    assert len(calls) == 1


def test_that_no_broker_answers_is_said_long_before_it_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    admin = AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    lines: list[float] = []
    began = time.monotonic()

    class Times(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(time.monotonic() - began)

    handler = Times()
    logging.getLogger("parkway.kafka").addHandler(handler)
    try:
        with pytest.raises(TopologyError, match=r"no Kafka broker answers at 127\.0\.0\.1:1"):
            cluster(admin, "127.0.0.1:1", 5)
    finally:
        logging.getLogger("parkway.kafka").removeHandler(handler)
    (said,) = lines
    assert said < 5
    assert time.monotonic() - began >= 5
    assert "127.0.0.1:1" in caplog.text
