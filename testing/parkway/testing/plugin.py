"""The pytest plugin: a broker for the session and a namespace for every test.

Every pytest run of every user who has Parkway installed imports this module, so it imports nothing
that takes time.
"""

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from parkway.testing.kafka import Broker

pytest_plugins = ["parkway.testing.agent_plugin"]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Download the broker, where needed, before the clock of a test's time limit runs."""
    wanted = any(map(_needs_broker, session.items))
    if wanted and not session.config.option.collectonly:
        prepare_broker(session.config)


def _needs_broker(item: pytest.Item) -> bool:
    if "parkway_kafka" in getattr(item, "fixturenames", ()):
        return True
    call = getattr(item, "callspec", None)
    return call is not None and call.params.get("parkway_on") == "kafka"


def prepare_broker(config: pytest.Config) -> None:
    """Install what `parkway_kafka` starts, with its progress on the terminal.

    An error is left to the fixture: the tests that need no broker run.
    """
    from parkway.testing.kafka import BrokerError, prepare  # noqa: PLC0415  # see the top

    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            prepare()
        except BrokerError:
            return


@pytest.fixture(scope="session")
def parkway_kafka() -> Iterator["Broker"]:
    """Start one broker for the session, when the first test asks for it, and wait until it answers.

    `parkway.testing.kafka.open_broker` says which settings choose it.
    """
    from parkway.testing.kafka import BrokerError, open_broker  # noqa: PLC0415  # see the top

    try:
        with open_broker() as broker:
            yield broker
    except BrokerError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def parkway_namespace() -> str:
    """Return a namespace that no other test has, such as `t-3fa91c`."""
    return f"t-{secrets.token_hex(3)}"
