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
    wanted = {topics.requests, topics.events, topics.outputs, topics.dlq, topics.parked, topics.plans}
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


def test_dev_runs_everything_restarts_what_dies_and_stops_at_ctrl_c(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    here = install("agents:Orders")  # for its broker
    output = tmp_path / "dev.out"
    environment: dict[str, Any] = {
        **os.environ,
        "PARKWAY_BOOTSTRAP_SERVERS": here.settings.bootstrap_servers,
        "PARKWAY_NAMESPACE": f"{here.settings.namespace}-dev",
        "PYTHONPATH": PYTHONPATH,
        "PARKWAY_STATE_DIR": str(tmp_path / "state"),
    }
    with output.open("w") as log:
        dev = subprocess.Popen(
            [sys.executable, "-m", "parkway.cli", "dev", "agents:Orders"], env=environment, stdout=log, stderr=log
        )
    try:
        wait_for("it is ready", lambda: "Ctrl-C" in output.read_text(), 60)
        send = {"PARKWAY_NAMESPACE": f"{here.settings.namespace}-dev"}
        assert parkway(here, "emit", "--type", "order", stdin='{"number": 41}', **send).returncode == 0
        wait_for("the output is shown", lambda: '"number":41' in output.read_text(), 60)
        worker = wait_for("its worker", lambda: _child(dev.pid, "worker"))
        os.kill(worker, signal.SIGKILL)
        wait_for("another worker", lambda: _child(dev.pid, "worker") not in (None, worker), 30)
        assert parkway(here, "emit", "--type", "order", stdin='{"number": "many"}', **send).returncode == 0
        wait_for("the dead letter is shown", lambda: "DLQ     bad_request" in output.read_text(), 60)
        began = time.monotonic()
        dev.send_signal(signal.SIGINT)
        assert dev.wait(60) == 0
        assert time.monotonic() - began < 45
        assert _child(dev.pid, "worker") is None
    except AssertionError as error:
        raise AssertionError(f"{error}\n{output.read_text()[-3000:]}") from None
    finally:
        dev.kill()
        dev.wait()


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
