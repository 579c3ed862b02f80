"""The commands against a real broker: what they create, what they refuse."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from installation import PYTHONPATH, Installation, event, wait_for


def parkway(
    here: Installation, *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    return here.parkway(*arguments, stdin=stdin, **environment)


def test_missing_topics_are_said_with_the_command_that_creates_them(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    plan = str(here.plan_file)
    elsewhere = {"PARKWAY_NAMESPACE": f"{here.settings.namespace}-empty"}
    for command in (["router", "--plan", plan], ["worker", "agents:Orders"], ["emit"]):
        done = parkway(here, *command, **elsewhere)
        assert done.returncode == 2, done.stderr
        assert "parkway topics apply" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    created = parkway(here, "topics", "apply", "--plan", plan, "--partitions", "2", **elsewhere)
    assert created.returncode == 0
    assert "created  " in created.stdout
    assert "x 2 partitions = " in created.stdout
    again = parkway(here, "topics", "apply", "--plan", plan, **elsewhere)
    assert again.returncode == 0
    assert "created 0" in again.stdout
    other = parkway(here, "topics", "apply", "--plan", plan, "--partitions", "3", **elsewhere)
    assert other.returncode == 2
    assert "2 partitions, not 3" in other.stderr


def test_topics_are_set_as_the_design_says(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    names = set(here.admin.list_topics(timeout=10).topics)
    topics = here.topics
    wanted = {topics.requests, topics.events, topics.outputs, topics.dlq, topics.parked, topics.plans, topics.journal}
    wanted |= {topics.resume("chat"), topics.resume("tool")}
    wanted |= {topics.action(action.name) for action in here.plan.actions}
    assert {name for name in names if name.startswith(f"{here.settings.namespace}.")} == wanted


def test_emit_takes_events_or_attributes_and_prints_their_ids(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    lines = "\n".join(json.dumps(event("order", f"e-{number}", number=number)) for number in range(3))
    done = parkway(here, "emit", "--key-from", "attributes.number", stdin=lines)
    assert (done.returncode, done.stdout.split()) == (0, ["e-0", "e-1", "e-2"])
    done = parkway(here, "emit", "--type", "order", "--key", "k", stdin='{"number": 9}\n\n{"number": 10}\n')
    assert done.returncode == 0
    sent = here.read(here.topics.requests)
    assert {one.key for one in sent} == {b"0", b"1", b"2", b"k"}
    assert {one.json["attributes"]["number"] for one in sent} == {0, 1, 2, 9, 10}
    placed = here.command("emit", "--type", "order", "--json", answer='{"number": 11}\n')
    place = json.loads(placed.out)
    assert any(
        (one.partition, one.offset) == (place["partition"], place["offset"]) for one in here.read(place["topic"])
    )
    half = here.command("emit", "--quiet", "--type", "order", answer='{"number": 12}\n{')
    assert (half.code, half.out) == (2, "")
    assert 12 in {one.json["attributes"]["number"] for one in here.read(here.topics.requests)}
    for wrong, said in (("{", "line 1"), ("[1]", "line 1"), ('{"number": 9}', "--type")):
        done = parkway(here, "emit", stdin=wrong)
        assert done.returncode == 2
        assert said in done.stderr


def test_two_processes_with_one_instance_do_not_fence_each_other(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router("same")
    here.wait_members(here.topics.router_group, 1)
    second = here.router("same")
    assert second.wait(30) == 2
    assert "same" in (here.folder / "same.log").read_text()
    here.worker("w0", "process")
    here.emit(event("order", number=1))
    here.flush()
    here.wait_read(here.topics.outputs, 1)


def test_settings_that_the_broker_refuses_are_said_and_exit_with_2(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    plan = str(here.plan_file)
    for command in (["router", "--plan", plan], ["worker", "agents:Orders", "--action", "process"]):
        done = parkway(here, *command, PARKWAY_SESSION_TIMEOUT="3")
        assert done.returncode == 2, done.stderr
        assert "PARKWAY_SESSION_TIMEOUT" in done.stderr
        done = parkway(here, *command, PARKWAY_KAFKA_SECURITY_PROTOCOL="BOGUS")
        assert done.returncode == 2, done.stderr
        assert "BOGUS" in done.stderr
    done = parkway(here, "dev", "agents:Orders", "--port", "39999")
    assert done.returncode == 2
    assert "PARKWAY_BOOTSTRAP_SERVERS" in done.stderr
    done = parkway(here, "emit", PARKWAY_CONCURENCY="5")
    assert "PARKWAY_CONCURRENCY" in done.stderr


def test_a_worker_whose_model_has_no_key_says_so_when_it_starts(
    install: Callable[..., Installation], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = install("contract_agents:Contexts", partitions=1)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    started = parkway(here, "worker", here.agent)
    assert started.returncode == 2, started.stderr
    assert "error: chat model 'assistant' cannot be opened: openai:gpt-5-mini" in started.stderr
    assert "OPENAI_API_KEY" in started.stderr
    assert "Traceback" not in started.stderr
    # What asks no model needs no key, and what a key is worth is not asked at start.
    here.worker("w0", "tool")
    here.worker("w1", "chat", OPENAI_API_KEY="not-a-key")
    for name in ("w0", "w1"):
        wait_for(f"{name} has started", lambda name=name: logged(here, name, "worker_started"), 60)


def logged(here: Installation, name: str, word: str) -> list[dict[str, Any]]:
    return [line for line in here.log_lines(name) if line["event"] == word]


def test_a_worker_says_that_routers_run_another_plan(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.apply(here.plan.model_copy(update={"hop_limit": 5}).with_build())
    here.router()
    here.emit(event("order", number=1))
    here.flush()
    here.wait_read(here.topics.action("process"), 1)
    here.worker("w0", "process")
    here.wait_read(here.topics.outputs, 1)
    said = [line for line in here.log_lines("w0") if line["event"] == "plan_differs_from_routers"]
    assert [line["routers"] for line in said] == [[here.plan.build]]


def test_dev_shows_what_happens_restarts_what_dies_reloads_what_is_saved_and_stops_at_ctrl_c(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    here = install("agents:Orders")  # for its broker
    dev = _Dev(here, tmp_path)
    try:
        dev.wait("ready: router and worker took", 90)
        dev.emit('{"number": 41}')
        dev.wait('output   {"number": 41}')
        assert "request  order" in dev.said()
        assert "trigger  handle takes order" in dev.said()
        worker = wait_for("its worker", lambda: _child(dev.process.pid, "worker"))
        os.kill(worker, signal.SIGKILL)
        dev.wait("worker died (exit code -9)")
        wait_for("another worker", lambda: _child(dev.process.pid, "worker") not in (None, worker), 30)
        dev.emit('{"number": "many"}')
        dev.wait("dead     DLQ bad_request")

        dev.save(SHOP.replace("def handle", "def handle_it").replace('"number": order', '"new": order'))
        dev.wait("loaded in ", 60)
        dev.emit('{"number": 42}')
        dev.wait('output   {"new": 42}')
        assert "handle-it takes order" in dev.said()
        dev.save("def broken(:")
        dev.wait("not loaded, what ran runs on: agent 'dev_shop:Shop'", 60)
        dev.emit('{"number": 43}')
        dev.wait('output   {"new": 43}')

        began = time.monotonic()
        dev.process.send_signal(signal.SIGINT)
        assert dev.process.wait(60) == 0
        assert time.monotonic() - began < 45
        assert _child(dev.process.pid, "worker") is None
    except AssertionError as error:
        raise AssertionError(f"{error}\n{dev.said()[-3000:]}") from None
    finally:
        dev.process.kill()
        dev.process.wait()


SHOP = """
from pydantic import BaseModel
from parkway.agents import Agent, Context, action

class Order(BaseModel):
    number: int

class Shop(Agent):
    @action("order", external=True)
    async def handle(self, order: Order, ctx: Context) -> None:
        ctx.output({"number": order.number})
"""


class _Dev:
    """`parkway dev` of an agent in a folder of its own."""

    def __init__(self, here: Installation, folder: Path) -> None:
        self._here = here
        self._folder = folder / "shop"
        self._folder.mkdir()
        self._log = folder / "dev.out"
        self._namespace = f"{here.settings.namespace}-dev"
        self.save(SHOP)
        environment: dict[str, Any] = {
            **os.environ,
            "PARKWAY_BOOTSTRAP_SERVERS": here.settings.bootstrap_servers,
            "PARKWAY_NAMESPACE": self._namespace,
            "PYTHONPATH": PYTHONPATH,
            "PARKWAY_STATE_DIR": str(folder / "state"),
        }
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "parkway.cli", "dev", "dev_shop:Shop"],
                env=environment,
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )

    def save(self, code: str) -> None:
        (self._folder / "dev_shop.py").write_text(code)

    def said(self) -> str:
        return self._log.read_text()

    def wait(self, text: str, seconds: float = 60) -> None:
        wait_for(f"dev says {text!r}", lambda: text in self.said(), seconds)

    def emit(self, attributes: str) -> None:
        done = self._here.command("emit", "--type", "order", answer=attributes, PARKWAY_NAMESPACE=self._namespace)
        assert done.code == 0, done


def _child(parent: int, word: str) -> int | None:
    """The process id of a child of `parent` that has `word` on its command line."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z" and word in command:
            return int(folder.name)
    return None
