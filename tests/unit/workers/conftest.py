from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """A test of a command may have sent the logs to a stream that is closed by now."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
