from collections.abc import Iterator

import pytest
from schema_registry_server import RegistryServer


@pytest.fixture
def registry_server() -> Iterator[RegistryServer]:
    server = RegistryServer()
    server.start()
    yield server
    server.stop()
