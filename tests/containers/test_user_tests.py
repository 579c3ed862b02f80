"""A user's own project, as the docs tell to write it: its test runs on Kafka in a container."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

AGENT = """
from pydantic import BaseModel

from parkway.agents import Agent, Context, action


class Ticket(BaseModel):
    customer: str
    amount: float


class Support(Agent):
    @action("ticket", when="amount > 100", external=True)
    async def triage(self, ticket: Ticket, ctx: Context) -> None:
        ctx.output({"customer": ticket.customer, "priority": "high"})
"""

CONFTEST = """
pytest_plugins = ["parkway.testing.pytest"]
"""

TEST = """
def test_large_tickets_go_first(parkway_stack):
    support = parkway_stack("support:Support")
    ticket = support.send("ticket", {"customer": "ann", "amount": 500})
    assert support.output_of(ticket) == {"customer": "ann", "priority": "high"}
"""

WHERE = """

def test_it_is_a_container(parkway_kafka):
    from testcontainers.core.docker_client import DockerClient

    port = int(parkway_kafka.bootstrap_servers.rpartition(":")[2])
    published = [
        int(each["HostPort"])
        for container in DockerClient().client.containers.list(filters={"label": "org.testcontainers=true"})
        for each in container.ports.get("9092/tcp") or ()
    ]
    assert port in published
"""


def test_five_lines_are_a_whole_test(tmp_path: Path) -> None:
    for name, text in {"support.py": AGENT, "conftest.py": CONFTEST, "test_support.py": TEST + WHERE}.items():
        (tmp_path / name).write_text(text)
    mine = {name: value for name, value in os.environ.items() if not name.startswith("PARKWAY_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env=mine,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
