"""Which lines of librdkafka are worth a line of ours."""

import logging

import pytest

from parkway.runtime.kafka_logs import kafka_logger

LOADING = "[thrd:main]: Failed to acquire transactional PID from broker TxnCoordinator/1: Broker: {}: retrying"


@pytest.mark.parametrize(("reason", "lines"), [("Coordinator load in progress", 0), ("Request timed out", 1)])
def test_a_broker_that_has_just_started_is_no_warning(
    caplog: pytest.LogCaptureFixture, reason: str, lines: int
) -> None:
    logger = kafka_logger(debug=False)
    logger.log(logging.WARNING, "%s [%s] %s", "GETPID", f"client of {reason}", LOADING.format(reason))
    assert len(caplog.records) == lines
