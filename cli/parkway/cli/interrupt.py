"""Ctrl-C while modules are imported, which takes a second or two: the end, without a traceback of the imports."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_ctrl_c() -> Iterator[None]:
    """End the process at once (130) at Ctrl-C: there is nothing yet to be closed.

    An exception is no way: half-imported modules turn it into others, or it is lost in a callback of theirs. Whoever
    has set something else for SIGINT (a shell ignores it for what runs in the background) keeps it.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    try:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
