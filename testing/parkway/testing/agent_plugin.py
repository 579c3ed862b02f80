"""Fixtures for tests of agents: `parkway_agent` (async) and `parkway_agent_sync`.

```python
@pytest.mark.parkway(on=["memory", "kafka"])
async def test_a_ticket_is_answered(parkway_agent):
    test = parkway_agent(Support, models={"assistant": ScriptedModel("It is paid.")})
    await test.send(Event("ticket", {"customer": "c1"}), key="c1")
    await test.run()
    assert test.outputs == [...]
```

Without the marker a test runs in memory. Like the plugin, this imports nothing that takes time.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from parkway.testing.agent_test import AgentTest, SyncAgentTest

MARKER: Final = "parkway"
_PLACES: Final = ("memory", "kafka")
_FIXTURES: Final = {"parkway_agent", "parkway_agent_sync", "parkway_on"}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f'{MARKER}(on=["memory", "kafka"]): where `parkway_agent` runs the agent of this test'
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None or _FIXTURES.isdisjoint(metafunc.fixturenames):
        return
    on = marker.kwargs.get("on", ["memory"])
    on = [on] if isinstance(on, str) else list(on)
    if not on or not set(on) <= set(_PLACES):
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: @pytest.mark.{MARKER}(on={on!r}): 'memory', 'kafka'")
    metafunc.parametrize("parkway_on", on, indirect=True)


@pytest.fixture
def parkway_on(request: pytest.FixtureRequest) -> str:
    """Return where the agent runs: `memory` or `kafka`."""
    return str(getattr(request, "param", "memory"))


@pytest.fixture
def parkway_agent(request: pytest.FixtureRequest, parkway_on: str) -> Iterator[Callable[..., "AgentTest"]]:
    """Open an AgentTest: `parkway_agent(Support, models=...)`. It is closed after the test."""
    from parkway.testing.agent_test import AgentTest  # noqa: PLC0415  see the top

    with ExitStack() as stack:
        yield _opener(request, parkway_on, stack, AgentTest)


@pytest.fixture
def parkway_agent_sync(request: pytest.FixtureRequest, parkway_on: str) -> Iterator[Callable[..., "SyncAgentTest"]]:
    """The same for tests that are no coroutines."""
    from parkway.testing.agent_test import SyncAgentTest  # noqa: PLC0415  see the top

    with ExitStack() as stack:
        yield _opener(request, parkway_on, stack, SyncAgentTest)


def _opener(request: pytest.FixtureRequest, on: str, stack: ExitStack, kind: type[Any]) -> Callable[..., Any]:
    def start(agent: Any, **options: Any) -> Any:
        if on == "kafka":
            options = {"kafka": request.getfixturevalue("parkway_kafka").bootstrap_servers, **options}
        test = kind(agent, **options)
        test.open()
        stack.callback(test.close)
        return test

    return start
