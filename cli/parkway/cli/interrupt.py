"""How a process ends before its command has begun.

Ctrl-C while modules are imported, which takes a second or two: the end, without a traceback of the imports. SIGTERM
in a container: the end, at all.
"""

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


def heed_sigterm_as_init() -> None:
    """The first process of a container ignores SIGTERM unless it has a handler, and would be killed after the grace.

    `router` and `worker` put their own in its place, once there is something to be closed.
    """
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
