"""What librdkafka logs, as lines of ours: warnings and worse, each kind at most once a minute and client.

A client writes its lines to a queue that its own `poll` empties (confluent-kafka's `logger`), so it is for clients that
poll. While a broker is away a client says so many times a second: what is left out is counted in the next line.
"""

import logging
import time
from typing import Final

LOGGER: Final = "librdkafka"
WARNING: Final = "4"  # librdkafka's log_level: syslog's number for warnings
_PAUSE: Final = 60.0
_MOST_KINDS: Final = 1_000
_LOADING: Final = "Coordinator load in progress: retrying"  # of every broker's first seconds; what lasts is raised


class _OncePerMinute(logging.Filter):
    """Lets the first line of a kind pass, and the next one a minute later, with a count of those between."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[int, str, str], tuple[float, int]] = {}  # -> when one passed, how many since

    def filter(self, record: logging.LogRecord) -> bool:
        arguments = record.args
        if record.levelno < logging.WARNING or not isinstance(arguments, tuple) or len(arguments) != 3:
            return True  # asked for, by `debug`
        facility, client, text = arguments
        if str(text).endswith(_LOADING):
            return False
        kind = (record.levelno, str(facility), str(client))
        now = time.monotonic()
        passed, left_out = self._kinds.get(kind, (0.0, 0))
        if kind in self._kinds and now - passed < _PAUSE:
            self._kinds[kind] = (passed, left_out + 1)
            return False
        if len(self._kinds) >= _MOST_KINDS:
            self._kinds.clear()
        self._kinds[kind] = (now, 0)
        if left_out:
            record.args = (facility, client, f"{text} (and {left_out} more of this kind before)")
        return True


def kafka_logger(*, debug: bool) -> logging.Logger:
    """The logger to give to clients. `debug`: librdkafka's own `debug` is set, and its lines are wanted."""
    logger = logging.getLogger(LOGGER)
    if not any(isinstance(one, _OncePerMinute) for one in logger.filters):
        logger.addFilter(_OncePerMinute())
    if debug:
        logger.setLevel(logging.DEBUG)
    return logger
