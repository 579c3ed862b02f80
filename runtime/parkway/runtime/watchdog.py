"""Ends the process when a call into librdkafka never returns.

librdkafka 2.16 can hang for ever in `send_offsets_to_transaction`, whatever its timeout, when the group's coordinator
was taken out of the client's list of brokers meanwhile (librdkafka issue 5511; reproduced here by killing and
restarting a broker). Nothing in the process can end such a call, so the process exits with 1 and its supervisor
starts another: what was not committed is taken again.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from parkway.runtime.logs import get_logger

_LOOK_EVERY: Final = 1.0


class Watchdog:
    """Watches calls of one thread at a time; one daemon thread looks at the clock."""

    def __init__(self) -> None:
        self._watched: tuple[str, float] | None = None  # what, until when; replaced whole
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, what: str, seconds: float) -> Iterator[None]:
        """End the process when the body takes longer than `seconds`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="watchdog", daemon=True)
            self._thread.start()
        self._watched = (what, time.monotonic() + seconds)
        try:
            yield
        finally:
            self._watched = None

    def _look(self) -> None:
        while True:
            time.sleep(_LOOK_EVERY)
            watched = self._watched
            if watched is not None and time.monotonic() > watched[1]:
                get_logger("watchdog").error("call_never_returned", call=watched[0], consequence="exit 1")
                sys.stderr.flush()
                os._exit(1)
