"""Tools of MCP servers through the whole system: a server that dies, and one that is not there yet."""

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from installation import Installation, event, wait_for
from mcp_agents import PROGRAM


def ask(here: Installation, request_id: str, model: str, words: str) -> None:
    messages = [{"role": "user", "content": words}]
    here.emit(event("_chat_request_event", request_id, model=model, messages=messages))
    here.flush()


def answers(here: Installation, count: int) -> dict[str, str]:
    records = here.wait_read(here.topics.outputs, count)
    found = {}
    for attributes in (record.json["attributes"] for record in records):
        error = attributes["error"]
        found[attributes["request_id"]] = error["message"] if error else attributes["response"]["content"]
    assert len(found) == len(records)
    return found


def answers_http(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1)
    except (urllib.error.URLError, OSError):
        return False
    return True


def test_servers_die_and_come_and_no_worker_does(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("mcp_agents:Served", partitions=2)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    environment = {"TEST_CALLS": str(tmp_path / "calls"), "TEST_MCP_PORT": str(port)}
    here.router()
    workers = [here.worker("chats", "chat", **environment), here.worker("tools", "tool", **environment)]
    ask(here, "dies", "here", "my_add my_die my_add")
    ask(here, "down", "there", "add")
    found = answers(here, 2)
    assert found["dies"] == "3 | Tool `my_die` execute failed. | 3"
    assert found["down"].startswith("the tools of 'there' are not there: MCP server 'remote' cannot be reached: ")
    assert (tmp_path / "calls").read_text().splitlines() == ["add", "die", "add"]
    server = subprocess.Popen([sys.executable, str(PROGRAM), str(port)], env={**os.environ, **environment})
    try:
        wait_for("the server", lambda: answers_http(port))
        ask(here, "up", "there", "add")
        assert answers(here, 3)["up"] == "3"
    finally:
        server.kill()
        server.wait()
    here.wait_all_done()
    assert here.parked() == {}
    for worker in workers:
        assert worker.poll() is None
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
