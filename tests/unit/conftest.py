from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """Where logs go is for the process: a test that sends them to a stream, or reads them, leaves none behind."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
