import signal

import pytest
import requires
from hypothesis import HealthCheck, settings

from parkway.testing.plugin import prepare_broker

# Property tests count cases, not milliseconds: machines that run them are shared.
settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")


def pytest_collection_finish(session: pytest.Session) -> None:
    # The first download of Kafka must not count as the time of the test that comes first.
    if any(item.get_closest_marker("integration") for item in session.items):
        prepare_broker(session.config)


def pytest_runtest_setup(item: pytest.Item) -> None:
    requires.check(item)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is for what a shell starts in the background, and for its children: tests that press Ctrl-C would press it
    # for nothing.
    signal.signal(signal.SIGINT, signal.default_int_handler)
