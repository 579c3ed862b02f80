from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from parkway.workers.entry_store import MakeStore, MemoryEntries
from parkway.workers.entry_store_disk import Database


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """A test of a command may have sent the logs to a stream that is closed by now."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@pytest.fixture(params=["memory", "disk"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """Each kind of store for parked entries."""
    if request.param == "memory":
        yield MemoryEntries
        return
    database = Database(tmp_path / "database")
    yield database.partition
    database.stop()
