import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "containers":
            item.add_marker(pytest.mark.requires("docker"))
