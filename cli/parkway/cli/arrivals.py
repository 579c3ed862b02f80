"""Records as they come, for commands that wait for what becomes of something."""

import time
from collections.abc import Iterator
from typing import Final

from confluent_kafka import Consumer, Message

from parkway.runtime.clients import check_consumer_error

_POLL: Final = 0.2  # seconds


def arrivals(consumer: Consumer, seconds: float) -> Iterator[Message]:
    """What comes within `seconds`, in all that the consumer is assigned. Raises as `check_consumer_error`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        message = consumer.poll(_POLL)
        if message is None:
            continue
        error = message.error()
        if error is None:
            yield message
        else:
            check_consumer_error(error)
