import pytest

from parkway.testing.plugin import prepare_broker


def pytest_collection_finish(session: pytest.Session) -> None:
    # The first download of Kafka must not count as the time of the test that comes first.
    if any(item.get_closest_marker("integration") for item in session.items):
        prepare_broker(session.config)
