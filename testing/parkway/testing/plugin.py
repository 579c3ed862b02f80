"""The pytest plugin: a broker for the session, a namespace for every test, a whole stack for an agent.

Every pytest run of every user who has Parkway installed imports this module, so it imports nothing
that takes time.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from parkway.testing.kafka import Broker
    from parkway.testing.stack import Stack

BROKER = pytest.StashKey[str]()  # the kind of broker where the environment chooses none: pip or docker

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
            prepare(default=config.stash.get(BROKER, "pip"))
        except BrokerError:
            return


@pytest.fixture(scope="session")
def parkway_kafka(pytestconfig: pytest.Config) -> Iterator["Broker"]:
    """Start one broker for the session, when the first test asks for it, and wait until it answers.

    `parkway.testing.kafka.open_broker` says which settings choose it.
    """
    from parkway.testing.kafka import BrokerError, open_broker  # noqa: PLC0415  # see the top

    try:
        with open_broker(default=pytestconfig.stash.get(BROKER, "pip")) as broker:
            yield broker
    except BrokerError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def parkway_namespace() -> str:
    """Return a namespace that no other test has, such as `t-3fa91c`."""
    return f"t-{secrets.token_hex(3)}"


@pytest.fixture
def parkway_stack(parkway_kafka: "Broker", tmp_path: Path) -> Iterator[Callable[..., "Stack"]]:
    """Start topics, a router and workers for an agent: `parkway_stack("support:Support", workers=2)`.

    `parkway.testing.stack.open_stack` explains the arguments, `Stack` what a test does with it. Everything ends with
    the test.
    """
    from parkway.testing.stack import open_stack  # noqa: PLC0415  # see the top

    with ExitStack() as stacks:

        def start(agent: Any, **arguments: Any) -> "Stack":
            namespace = f"t-{secrets.token_hex(3)}"
            given = {"namespace": namespace, "folder": tmp_path / namespace, **arguments}
            return stacks.enter_context(open_stack(agent, bootstrap_servers=parkway_kafka.bootstrap_servers, **given))

        yield start
