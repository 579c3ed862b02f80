"""The fixtures, as a user's test sees them."""

import subprocess
import sys

import pytest
from harness_agents import Flaky

from parkway.agents import Event


@pytest.mark.parkway(on=["memory"])
async def test_parkway_agent_is_open_and_in_memory(parkway_agent, parkway_on):
    test = parkway_agent(Flaky)
    await test.send(Event("job", {"number": 1}), key="a")
    await test.run()
    assert (parkway_on, test.outputs) == ("memory", [{"number": 1, "attempt": 1}])


def test_without_a_marker_it_is_memory_too(parkway_agent_sync, parkway_on):
    first, second = parkway_agent_sync(Flaky), parkway_agent_sync(Flaky)
    first.send(Event("job", {"number": 1}), key="a")
    first.run()
    second.run()
    assert parkway_on == "memory"
    assert (len(first.outputs), len(second.outputs)) == (1, 0)


def test_a_place_that_is_none_is_an_error_of_collection(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "import pytest\n@pytest.mark.parkway(on=['disk'])\ndef test_x(parkway_agent): pass\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ran.returncode != 0
    assert "'memory', 'kafka'" in ran.stdout + ran.stderr


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, parkway.testing.plugin, parkway.testing.agent_plugin; print('pydantic_ai' in sys.modules, 'confluent_kafka' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert ran.stdout.split() == ["False", "False"]
