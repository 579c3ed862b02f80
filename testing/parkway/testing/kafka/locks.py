"""Exclusive locks between processes, on files."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_SECONDS = 0.05


def acquire(path: Path, *, patience: float = 0.0) -> int | None:
    """Lock the file `path`, made when missing, and write this process's id into it.

    The lock belongs to the descriptor that is returned and to every process that inherits it: it is
    free once all of them are closed, however their processes ended.

    Returns: the descriptor; None when another process held the lock for all of `patience` seconds.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(_POLL_SECONDS)
        except BaseException:
            os.close(descriptor)
            raise
        else:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            return descriptor


def holder(path: Path) -> str:
    """Return the id of the process that locked `path` last, for a message."""
    return path.read_text(encoding="ascii").strip() or "unknown"


@contextmanager
def exclusive(path: Path, *, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock on `path`, however long another process keeps it; `on_wait` is called before waiting."""
    descriptor = acquire(path)
    if descriptor is None:
        on_wait()
        descriptor = acquire(path, patience=float("inf"))
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)
