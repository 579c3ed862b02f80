"""An instance: the name that stands in client and transactional ids, one live process each (DESIGN 2.1)."""

import fcntl
import os
import re
import socket
import tempfile
from pathlib import Path
from typing import IO, Final, Self

from parkway.schemas.errors import ParkwayError

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_SLOTS: Final = 1000


class InstanceError(ParkwayError):
    """An instance name that cannot be used, or that a live process has."""


class Instance:
    """A name held by this process: an advisory lock on a file keeps others on this host from taking it.

    The lock ends with the process, however it dies, so a restarted process gets its predecessor's name and
    with it ends the transaction that the predecessor left open.
    """

    def __init__(self, name: str, lock: IO[str]) -> None:
        self.name = name
        self._lock = lock
        # A clean end empties the file. What stands there was left by a process that died: its group member is
        # a ghost, which need not be waited for.
        self.predecessor_died = bool(lock.read())
        lock.seek(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Give the name back, whatever ended the process: only one that died leaves its mark.

        So a process that was fenced by another one of its name looks for it when it is started again.
        """
        self.release()

    def release(self) -> None:
        """Give the name back, cleanly."""
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.close()


def take_instance(namespace: str, role: str, name: str | None = None) -> Instance:
    """Take `name`, or the host name with the first slot whose lock is free.

    Raises InstanceError when a live process on this host holds `name`.
    """
    if name is not None:
        if not _NAME.fullmatch(name):
            raise InstanceError(f"instance {name!r}: use 1 to 128 letters, digits, dots, dashes, underscores")
        lock = _try_lock(namespace, role, name)
        if lock is None:
            raise InstanceError(f"instance {name!r} is held by another {role} on this host: give each its own")
        return Instance(name, lock)
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:100] or "host"
    for slot in range(_SLOTS):
        candidate = f"{host}-{slot}"
        lock = _try_lock(namespace, role, candidate)
        if lock is not None:
            return Instance(candidate, lock)
    raise InstanceError(f"all {_SLOTS} slots of {host} are taken: set PARKWAY_INSTANCE")


def _try_lock(namespace: str, role: str, name: str) -> IO[str] | None:
    folder = Path(tempfile.gettempdir()) / f"parkway-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = (folder / f"{namespace}.{role}.{name}.lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    lock.seek(0)
    return lock
