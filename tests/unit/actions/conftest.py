from collections.abc import Iterator

import pytest
from decision_hosts import KEY
from decision_server import Host


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    running = Host()
    for name in ("SYSTEM_ONE", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_BASE_URL", running.url)
    yield running
    running.stop()
