from collections.abc import Iterator
from pathlib import Path

import pytest

from parkway.workers.entry_store import MakeStore
from parkway.workers.entry_store_disk import Database
from parkway.workers.entry_store_memory import MemoryEntries


@pytest.fixture(params=["memory", "disk"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """Each kind of store for parked entries."""
    if request.param == "memory":
        yield MemoryEntries
        return
    database = Database(tmp_path / "database")
    yield database.partition
    database.stop()
