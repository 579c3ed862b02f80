"""Which stores the workers of this process keep parked entries in, and the folder of those on disk."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings
from parkway.schemas.errors import ParkwayError
from parkway.workers.entry_store import EntryStoreError, MakeStore
from parkway.workers.entry_store_memory import MemoryEntries

if TYPE_CHECKING:
    from parkway.workers.entry_store_disk import Database


class ParkedStoreError(ParkwayError):
    """A store that cannot be opened as the settings ask for it."""


class Stores:
    """Of the process that holds `instance`: no other one may use the folder of that name.

    The folder is empty at first: what lies there was left by a process that died, and nobody may rely on it. Raises
    ParkedStoreError.
    """

    def __init__(self, settings: Settings, instance: str) -> None:
        self._databases: list[Database] = []
        self._folder: Path | None = None
        if settings.parked_store == "disk":
            _need_rocksdict()
            self._folder = _fresh_folder(settings, instance)
            get_logger("worker").info("parked_on_disk", folder=str(self._folder))

    def of_action(self, action: str) -> MakeStore:
        """What makes the stores of this action's partitions."""
        if self._folder is None:
            return MemoryEntries
        from parkway.workers.entry_store_disk import Database  # noqa: PLC0415  an extra: parkway[disk]

        try:
            database = Database(self._folder / action)
        except EntryStoreError as error:
            raise ParkedStoreError(str(error)) from error
        self._databases.append(database)
        return database.partition

    def remove(self) -> None:
        """The end of the process. What cannot be removed is left to the next one of this instance."""
        for database in self._databases:
            database.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _need_rocksdict() -> None:
    try:
        import rocksdict  # noqa: F401, PLC0415  an extra: parkway[disk]
    except ImportError as error:
        raise ParkedStoreError(
            f"PARKWAY_PARKED_STORE=disk needs rocksdict ({error}): pip install 'parkway[disk]', or set it to memory"
        ) from error


def _fresh_folder(settings: Settings, instance: str) -> Path:
    above = settings.parked_dir or Path(tempfile.gettempdir()) / f"parkway-{os.getuid()}" / "parked"
    folder = above / f"{settings.namespace}.{instance}"
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700, parents=True)  # prompts and answers are in it
    except OSError as error:
        raise ParkedStoreError(
            f"{folder} cannot be written ({error.strerror}): set PARKWAY_PARKED_DIR to a folder that can, "
            "or PARKWAY_PARKED_STORE=memory"
        ) from error
    return folder
