"""Dead letters: listed, shown, and put back, each once, whatever is killed meanwhile."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from installation import HERE, PYTHONPATH, Installation, event, wait_for

Install = Callable[..., Installation]


def numbers(here: Installation, member: str) -> Counter[int]:
    outputs = (one.json["attributes"]["output"] for one in here.read(here.topics.outputs))
    return Counter(output[member] for output in outputs if member in output)


def look_at(here: Installation) -> str:
    """List and show; returns the place of job-3."""
    listed = here.command("dlq", "list", "--json", "--limit", "5")
    lines = [json.loads(line) for line in listed.out.splitlines()]
    assert len(lines) == 5
    assert "22 dead letters (17 more than --limit shows): " in listed.err
    assert "action_failed 20" in listed.err
    assert "deadline_exceeded" not in listed.err
    one = json.loads(here.command("dlq", "list", "--json", "--id", "job-3").out)
    assert (one["action"], one["type"], one["attempts"], one["replays"]) == ("work", "job", 1, 0)
    assert here.command("dlq", "list", "--key", "k1", "--reason", "action_failed").out.count("\n") == 4
    assert "no dead letters" in here.command("dlq", "list", "--until", "1h").err
    assert here.command("dlq", "list", "--since", "1h", "--action", "work", "--type", "job").out.count("\n") == 20

    shown = here.command("dlq", "show", one["place"])
    assert "ValueError: cannot do 3" in shown.out
    assert "parkway-root-id: job-3" in shown.out
    details = json.loads(here.command("dlq", "show", one["place"], "--json").out)
    assert (details["event"]["attributes"], details["replayed"]) == ({"number": 3}, False)

    return str(one["place"])


def test_what_was_mended_is_put_back_to_the_action_that_failed(install: Install, tmp_path: Path) -> None:
    here = install("dlq_agents:Mendable")
    here.router()
    here.worker("w0", TEST_NOTES=str(tmp_path), PARKWAY_CAPTURE_CONTENT="true")
    for number in range(20):
        here.emit(event("job", f"job-{number}", number=number), key=f"k{number % 5}")
    here.emit(event("secret", "s-1"), key="k0")
    here.emit(b"no json", partition=2)
    here.flush()
    here.wait_read(here.topics.dlq, 22)
    here.wait_read(here.topics.outputs, 20)
    place = look_at(here)
    (tmp_path / "mended").touch()
    only = ["dlq", "replay", "--reason", "action_failed", "--action", "work"]
    planned = here.command(*only, "--dry-run")
    assert planned.out == f"     20 would go back to {here.topics.action('work')}\n"
    refused = here.command(*only, answer="n\n")
    assert (refused.code, len(here.read(here.topics.action("work")))) == (1, 20)
    first = here.command("dlq", "replay", place, "--yes")
    assert first.out.endswith(f"1 went back to {here.topics.action('work')}\n"), first
    done = here.command(*only, "--yes", "--json")
    assert json.loads(done.out.splitlines()[-1])["replayed"] == {here.topics.action("work"): 19}
    here.wait_read(here.topics.outputs, 40)
    here.wait_all_done()
    assert numbers(here, "number") == Counter(range(20))
    assert numbers(here, "counted") == Counter(range(20))
    back = here.read(here.topics.action("work"))[-1]
    assert back.headers["parkway-replays"] == b"1"
    assert back.headers["parkway-root-id"] == back.json["id"].encode()
    assert not {name for name in back.headers if name.startswith("parkway-error")}
    assert here.command(*only, "--yes").out == "no dead letter fits\n"
    left = here.command("dlq", "list")
    assert left.err.startswith("2 dead letters: ")
    assert here.command("dlq", "list", "--all").err.startswith("22 dead letters: ")
    assert json.loads(here.command("dlq", "show", place, "--json").out)["replayed"] is True

    # What the router refused is checked again, and dies again: its replays are counted.
    again = here.command("dlq", "replay", "--yes")
    assert f"2 went back to {here.topics.requests}" in again.out
    wait_for("both died again", lambda: here.command("dlq", "list").out.count("(replayed 1x)") == 2)


def test_what_cannot_go_back_stays_and_is_named(install: Install) -> None:
    here = install("agents:Patient")
    here.create_topic(f"{here.settings.namespace}-shop", 5)
    body = event("job", "j")

    def dead(origin: str, partition: int = 0, **more: str) -> None:
        given = {"parkway-error-type": "action_failed", "parkway-error-message": "x", "parkway-origin": origin}
        here.emit(body, topic=here.topics.dlq, partition=partition, headers={**given, **more})

    typed = {"parkway-type": "job"}
    dead(f"{here.topics.parked}/0/3")
    dead(f"{here.settings.namespace}-shop/4/3", partition=1)
    dead(f"{here.topics.action('chat')}/0/4")
    dead(f"{here.topics.action('chat')}/7/4", **typed)
    dead(f"{here.topics.action('gone')}/0/4", **typed)
    dead("nonsense")
    dead(f"{here.topics.resume('chat')}/2/4", partition=2, **typed, **{"parkway-deadline": "1"})
    dead(f"{here.topics.events}/1/4", partition=1, **typed, **{"parkway-deadline": "99999999999999"})
    here.flush()
    done = here.command("dlq", "replay", "--yes", "--json")
    lines = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    assert lines[-1]["replayed"] == {here.topics.resume("chat"): 1, here.topics.events: 1}
    stay = " ".join(lines[-1]["stay"])
    for word in (
        "were parked",
        "-shop, which others may read",
        "lost their headers",
        "partition 7",
        "do not say",
        ".gone",
    ):
        assert word in stay
    (resumed,) = here.read(here.topics.resume("chat"))
    assert (resumed.partition, resumed.json) == (2, body)
    assert "parkway-deadline" not in resumed.headers  # it had passed
    (sent,) = here.read(here.topics.events)
    assert (sent.partition, sent.headers["parkway-deadline"]) == (1, b"99999999999999")
    given = here.command("dlq", "replay", "--yes", "--sources")
    assert f"1 went back to {here.settings.namespace}-shop" in given.out
    for words, said in (
        (["dlq", "list", "--reason", "action_faild"], "did you mean action_failed?"),
        (["dlq", "show", "here"], ".dlq/PARTITION/OFFSET"),
        (["dlq", "replay", "--since", "soon"], "10m"),
        (["dlq", "list", "--namespace", "nobody"], "missing topic nobody.dlq"),
    ):
        wrong = here.command(*words)
        assert (wrong.code, wrong.out) == (2, ""), wrong
        assert said in wrong.err
    assert here.command("dlq", "show", "0/999999").code == 1


def start_replay(here: Installation, faults: str, *more: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PARKWAY_BOOTSTRAP_SERVERS": here.settings.bootstrap_servers,
        "PARKWAY_NAMESPACE": here.settings.namespace,
        "PYTHONPATH": PYTHONPATH,
        "FAULTS": faults,
    }
    command = [sys.executable, str(HERE / "faults.py"), "dlq", "replay", "--yes", *more]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    here.processes.append(process)  # type: ignore[arg-type]  # it is ended with the test
    return process


def fill(here: Installation, count: int) -> None:
    for number in range(count):
        partition = number % here.partitions
        given = {
            "parkway-error-type": "action_failed",
            "parkway-error-message": "x",
            "parkway-origin": f"{here.topics.action('process')}/{partition}/{number}",
            "parkway-type": "order",
        }
        here.emit(event("order", str(number), number=number), topic=here.topics.dlq, partition=partition, headers=given)
    here.flush()


def stands_still(process: subprocess.Popen[str]) -> bool:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def put_back(here: Installation) -> Counter[str]:
    return Counter(one.json["id"] for one in here.read(here.topics.action("process")))


@pytest.mark.timeout(180)
def test_a_thousand_go_back_once_under_kills(install: Install) -> None:
    """Killed inside a transaction, after one, and while it commits; each next run goes on."""
    here = install("agents:Orders")
    fill(here, 1_000)
    for faults in ("after_flush:kill@2", "before_commit:kill@1", "after_commit:kill@2"):
        process = start_replay(here, faults)
        said, _ = process.communicate(timeout=90)
        assert process.returncode == -signal.SIGKILL, said
    done = here.command("dlq", "replay", "--yes")
    assert done.code == 0, done
    assert "went back to" in done.out
    assert put_back(here) == Counter(str(number) for number in range(1_000))
    assert here.command("dlq", "list").err == "no dead letters\n"


@pytest.mark.timeout(180)
def test_two_replays_at_once_put_nothing_back_twice(install: Install) -> None:
    """The second one fences the first, which stands still inside a transaction, and says so when it goes on."""
    here = install("agents:Orders")
    fill(here, 1_000)
    first = start_replay(here, "before_commit:stop@3")
    wait_for("it stands still", lambda: stands_still(first), 60)
    second = here.command("dlq", "replay", "--yes")
    assert second.code == 0, second
    first.send_signal(signal.SIGCONT)
    said, _ = first.communicate(timeout=60)
    assert first.returncode == 1, said
    assert "another `parkway dlq replay` of this namespace has taken over" in said
    assert put_back(here) == Counter(str(number) for number in range(1_000))


def test_ctrl_c_stops_between_two_transactions(install: Install) -> None:
    here = install("agents:Orders")
    fill(here, 1_000)
    process = start_replay(here, "before_commit:stop@2")
    wait_for("it stands still", lambda: stands_still(process), 60)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "stopped: run it again to go on" in said
    assert "Traceback" not in said
    assert len(put_back(here)) == 400
    assert here.command("dlq", "replay", "--yes", "--limit", "100").code == 0
    assert here.command("dlq", "replay", "--yes").code == 0
    assert put_back(here) == Counter(str(number) for number in range(1_000))
