"""Calls that may never return, made on a thread that can be left behind.

librdkafka 2.16 can hang for ever in `send_offsets_to_transaction`, whatever its timeout, when the group's coordinator
was taken out of the client's list of brokers meanwhile (librdkafka issue 5511; seen here when one of three brokers died
for good). Nothing ends such a call; but its producer can be given up, and a new one with the same transactional id
fences whatever the old one may still send.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

Reply = SimpleQueue[BaseException | None]


class NeverReturnedError(Exception):
    """A call did not come back in its time. The thread that made it is lost, with all that the call refers to."""


class BoundedCalls:
    """Makes calls one at a time, on one daemon thread. One thread at a time uses an object of this class."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Callable[..., None], tuple[Any, ...], Reply]] | None = None

    def make(self, call: Callable[..., None], *arguments: Any, seconds: float) -> None:
        """Call it. Raises what it raises, and NeverReturnedError after `seconds`: the next call has another thread."""
        if self._asked is None:
            self._asked = SimpleQueue()
            threading.Thread(target=_serve, args=(self._asked,), name="bounded-calls", daemon=True).start()
        reply: Reply = SimpleQueue()
        self._asked.put((call, arguments, reply))
        try:
            error = reply.get(timeout=seconds)
        except Empty:
            self._asked = None
            raise NeverReturnedError(f"no return within {seconds:g} s") from None
        if error is not None:
            raise error


def _serve(asked: "SimpleQueue[tuple[Callable[..., None], tuple[Any, ...], Reply]]") -> None:
    while True:
        call, arguments, reply = asked.get()
        error: BaseException | None = None
        try:
            call(*arguments)
        except BaseException as raised:
            error = raised
        reply.put(error)
        # Nothing of a call outlives it here: a producer that is given up must be free to end.
        del call, arguments, reply, error
