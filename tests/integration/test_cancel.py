"""Cancellations meet requests in every state: each ends once, and so do its tools."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from installation import Installation, event, wait_for

from parkway.schemas.tokens import Token, new_secret

Install = Callable[..., Installation]


def ask(here: Installation, request_id: str, words: str, **headers: str) -> None:
    """`words`: what happens round by round, see agents.steps. The number is what notes and tools call it."""
    number = request_id.rpartition("-")[2]
    request = event(
        "_chat_request_event",
        request_id,
        model="assistant",
        messages=[{"role": "user", "content": f"{number} {words}"}],
        user_context={"number": number},
    )
    here.emit(request, partition=int(number) % here.partitions, headers={f"parkway-{k}": v for k, v in headers.items()})


def cancel(here: Installation, request_id: str, action: str = "chat", **headers: str) -> None:
    """As an operator does: into `events`, in the request's partition."""
    number = int(request_id.rpartition("-")[2])
    body = event("_cancel_request_event", request_id=request_id, action=action, reason="a test")
    given = {"parkway-type": "_cancel_request_event", **{f"parkway-{k}": v for k, v in headers.items()}}
    here.emit(body, topic=here.topics.events, partition=number % here.partitions, headers=given)


def cancel_by_token(here: Installation, token: Token) -> None:
    here.emit(event("_cancel_request_event", token=str(token)))


def ends(here: Installation) -> list[tuple[str, str]]:
    """Request id and error type of every response, sorted."""
    return sorted(
        (attributes["request_id"], (attributes["error"] or {}).get("type", "success"))
        for attributes in (one.json["attributes"] for one in here.read(here.topics.outputs))
    )


def cancelled(ids: Iterable[str]) -> list[tuple[str, str]]:
    return sorted((request_id, "cancelled") for request_id in ids)


def wait_ends(here: Installation, expected: list[tuple[str, str]], seconds: float = 60.0) -> None:
    """Wait for as many ends as are expected, then until nothing is on its way; they must be the expected ones."""
    here.flush()
    here.wait_read(here.topics.outputs, len(expected), seconds)
    here.wait_all_done(seconds)
    assert ends(here) == expected, here.logs()


def notes(folder: Path, name: str) -> Counter[str]:
    path = folder / f"{name}.notes"
    return Counter(path.read_text().splitlines() if path.exists() else [])


def waits_in(here: Installation, request_id: str) -> list[int]:
    """The partitions in which `parkway parked list` shows this id."""
    listed = map(json.loads, here.command("parked", "list", "--json").out.splitlines())
    return sorted(one["partition"] for one in listed if one["id"] == request_id)


def tool_responses(here: Installation) -> list[Any]:
    return [one for one in here.read(here.topics.events) if one.headers["parkway-type"] == b"_tool_response_event"]


def test_a_cancelled_request_ends_once_in_whatever_state_it_is(install: Install, tmp_path: Path) -> None:
    here = install("agents:Patient", partitions=2)
    here.router()
    here.worker("w0", TEST_NOTES=str(tmp_path))
    secrets = {number: new_secret() for number in (11, 13, 14)}
    ask(here, "first-1", "model")
    ask(here, "parked-2", "hang")
    ask(here, "later-3", "lookup model")
    for number, words in ((11, "model"), (13, "hang")):
        ask(here, f"token-{number}", words, **{"cancel-secret": secrets[number]})
    ask(here, "answered-4", "end")
    here.flush()
    wait_for("first calls", lambda: notes(tmp_path, "steps") == {"1": 1, "2": 1, "3": 2, "4": 1, "11": 1, "13": 1})
    wait_for("tools run", lambda: notes(tmp_path, "hang") == {"started 2": 1, "started 13": 1})
    cancel(here, "first-1")
    cancel(here, "parked-2")
    cancel(here, "later-3")
    cancel(here, "early-5")
    cancel(here, "answered-4")
    for number in (11, 13, 14):
        cancel_by_token(here, Token("chat", number % 2, secrets[number]))
    cancel(here, "nobody-6", deadline=str(here.broker_time() + 6_000))
    here.flush()
    early = {b"early-5/chat:cancel", f"{secrets[14]}/chat:cancel-token".encode(), b"nobody-6/chat:cancel"}
    wait_for("the early ones are remembered", lambda: early <= {one.key for one in here.read(here.topics.parked)})
    ask(here, "early-5", "end")
    ask(here, "token-14", "end", **{"cancel-secret": secrets[14]})
    was_cancelled = ["first-1", "parked-2", "later-3", "early-5", "token-11", "token-13", "token-14"]
    expected = [("answered-4", "success"), *cancelled(was_cancelled)]
    wait_ends(here, expected)
    assert set(notes(tmp_path, "steps")) == {"1", "2", "3", "4", "11", "13"}  # no model was asked for the early ones
    wait_for("what is cancelled runs no more", lambda: notes(tmp_path, "hang")["cancelled 2"] == 1)
    assert notes(tmp_path, "hang")["cancelled 13"] == 1
    assert len(tool_responses(here)) == 1  # of the one that answered
    for response in here.read(here.topics.outputs):
        assert response.json["attributes"]["user_context"]["number"] in response.json["attributes"]["request_id"]
    wait_for("the one without a request is forgotten", lambda: here.parked() == {})
    for request_id in was_cancelled:  # twice
        cancel(here, request_id)
    cancel_by_token(here, Token("chat", 1, secrets[11]))
    wait_ends(here, expected)
    assert here.parked() == {}
    assert here.read(here.topics.dlq) == []


def test_tools_of_an_ended_request_are_stopped_and_queued_ones_never_run(install: Install, tmp_path: Path) -> None:
    here = install("agents:Patient", partitions=1)
    here.router()
    here.worker("w0", "chat", TEST_NOTES=str(tmp_path))
    here.worker("w1", "tool", TEST_NOTES=str(tmp_path), PARKWAY_CONCURRENCY="1")
    ask(here, "runs-1", "hang")
    here.flush()
    wait_for("the tool runs", lambda: notes(tmp_path, "hang")["started 1"] == 1)
    ask(here, "queued-2", "hang")
    here.flush()
    wait_for("both are parked", lambda: len(here.parked()) == 2)
    cancel(here, "queued-2")
    here.flush()
    wait_for(
        "the tool's cancellation is remembered", lambda: any(key.endswith(b"/tool:cancel") for key in here.parked())
    )
    ask(here, "late-3", "hang", deadline=str(here.broker_time() + 4_000))
    here.flush()
    wait_for("its tool request is queued", lambda: len(here.read(here.topics.action("tool"))) == 3)
    cancel(here, "runs-1")
    expected = [("late-3", "deadline_exceeded"), *cancelled(["queued-2", "runs-1"])]
    wait_ends(here, expected)
    assert notes(tmp_path, "hang") == Counter(
        {"started 1": 1, "cancelled 1": 1, "started 3": 1, "cancelled 3": 1}
    )  # a slot came free: the third one ran until its deadline, the second one never
    # Its deadline ends a running tool, too, and that end is a response (to nobody, when the sweep was quicker).
    assert {one.headers["parkway-root-id"] for one in tool_responses(here)} <= {b"late-3"}
    assert here.parked() == {}


@pytest.mark.timeout(180)
def test_a_worker_that_dies_with_cancellations_in_hand_ends_each_request_once(install: Install, tmp_path: Path) -> None:
    here = install("agents:Patient")
    here.router()
    worker = here.worker("w0", "chat", TEST_NOTES=str(tmp_path))  # nobody runs tools: those requests stay parked
    ids = [f"{kind}-{number}" for kind, first in (("first", 0), ("parked", 100)) for number in range(first, first + 30)]
    for request_id in ids:
        ask(here, request_id, "model" if request_id.startswith("first") else "hang")
    here.flush()
    wait_for("all are running or parked", lambda: len(here.parked()) == 30 and len(notes(tmp_path, "steps")) == 60)
    early = [f"early-{number}" for number in range(200, 230)]
    for request_id in [*ids, *early]:
        cancel(here, request_id)
    here.flush()
    wait_for("some responses", lambda: len(ends(here)) > 0)
    worker.kill()
    worker.wait()
    wait_for("all cancellations are routed", lambda: len(here.read(here.topics.resume("chat"))) == 90)
    for request_id in early:
        ask(here, request_id, "end")
    here.worker("w0", "chat", TEST_NOTES=str(tmp_path))
    here.flush()
    here.wait_read(here.topics.outputs, 90)
    here.worker("w1", "tool", TEST_NOTES=str(tmp_path))  # tool requests, and their cancellations, are all there
    wait_ends(here, cancelled([*ids, *early]))
    assert tool_responses(here) == []
    assert here.parked() == {}
    assert not notes(tmp_path, "steps").keys() & {str(number) for number in range(200, 230)}


@pytest.mark.timeout(180)
def test_cancellations_during_rebalances_end_each_request_once(install: Install, tmp_path: Path) -> None:
    here = install("agents:Patient")
    here.router()
    group = here.topics.worker_group("chat")
    workers = {"w0": here.worker("w0", "chat", TEST_NOTES=str(tmp_path))}
    ids = [f"{kind}-{number}" for kind, first in (("first", 0), ("parked", 100)) for number in range(first, first + 60)]
    for request_id in ids:
        ask(here, request_id, "model" if request_id.startswith("first") else "hang")
    here.flush()
    wait_for("all are running or parked", lambda: len(here.parked()) == 60 and len(notes(tmp_path, "steps")) == 120)
    left = list(ids)

    def cancel_some(count: int) -> None:
        for _ in range(count):
            cancel(here, left.pop(0 if len(left) % 2 else -1))
        here.flush()

    workers["w1"] = here.worker("w1", "chat", TEST_NOTES=str(tmp_path))
    end = time.monotonic() + 60
    while len(left) > 60:  # while it joins
        cancel_some(4)
        assert time.monotonic() < end
        wait_for("they are routed", lambda: len(here.read(here.topics.resume("chat"))) >= 120 - len(left))
    here.wait_members(group, 2)
    cancel_some(30)
    workers["w0"].terminate()  # what it runs is cancelled after the drain, and begins anew elsewhere
    cancel_some(30)
    here.wait_read(here.topics.outputs, 120, 90)
    here.worker("w2", "tool")
    wait_ends(here, cancelled(ids), 90)
    assert here.parked() == {}


def test_the_commands_show_and_cancel_what_waits(install: Install, tmp_path: Path) -> None:
    here = install("agents:Patient")
    here.router()
    here.worker("w0", TEST_NOTES=str(tmp_path))
    ask(here, "parked-1", "hang", tenant="acme")
    ask(here, "parked-2", "hang")
    ask(here, "first-3", "model")
    here.flush()
    wait_for("two are parked, one runs", lambda: len(here.parked()) == 2 and notes(tmp_path, "steps")["3"] == 1)

    listed = here.command("parked", "list", "--json", "--limit", "1")
    assert (listed.code, listed.err) == (0, "1 more; see --limit\n")
    assert json.loads(listed.out)["pending_calls"] == 1
    table = here.command("parked", "list", "--action", "chat")
    assert {line.split()[0] for line in table.out.splitlines()} == {"ID", "parked-1", "parked-2"}
    assert "nothing is parked" in here.command("parked", "list", "--older-than", "1h").err

    shown = here.command("parked", "show", "parked-1", "--json")
    details = json.loads(shown.out)
    assert (details["action"], details["round"], details["partition"], details["external"]) == ("chat", 1, 1, True)
    assert details["headers"]["parkway-tenant"] == "acme"
    assert "request" not in details
    assert "1 hang" not in shown.out
    assert "1 hang" in here.command("parked", "show", "parked-1", "--content").out
    missing = here.command("parked", "show", "first-3")
    assert (missing.code, missing.err.count("\n")) == (1, 1)

    by_token = Token.parse(details["token"])
    cancel_by_token(here, by_token)
    here.flush()
    here.wait_read(here.topics.outputs, 1)
    asked = here.command("requests", "cancel", "parked-2", "--wait", "60s", answer="y\n")
    assert asked.code == 0, asked.err
    assert "parked in partition 2 (round 1, waits for 1 call" in asked.out
    assert "\ncancelled (response in" in asked.out
    first = here.command("requests", "cancel", "first-3", "--yes", "--wait", "60s", "--remember", "5s")
    assert first.code == 0, first.err
    assert "sent to all 3 partitions; where it has not come yet, it is remembered for 5 s\ncancelled" in first.out
    wait_ends(here, cancelled(["parked-1", "parked-2", "first-3"]))
    wait_for("what was remembered elsewhere is forgotten", lambda: here.parked() == {})

    refused = here.command("requests", "cancel", "parked-2", answer="n\n")
    assert refused.code == 1
    late = here.command("requests", "cancel", "parked-2", "--yes", "--partition", "2", "--wait", "1s")
    assert (late.code, late.err.count("\n")) == (1, 1)
    here.command("requests", "cancel", "nobody", "--yes")
    wait_for("the list shows each partition that remembers", lambda: waits_in(here, "nobody") == [0, 1, 2])
    for words, said in (
        (["requests", "cancel", "x", "--action", "chit"], "can be cancelled: chat, tool"),
        (["requests", "cancel", "x", "--partition", "3"], "has 0 to 2"),
        (["requests", "cancel", "x", "--action", "tool", "--wait", "1s"], "without a response"),
        (["parked", "list", "--older-than", "soon"], "10m"),
        (["parked", "list", "--namespace", "nobody"], "missing topic nobody.parked"),
    ):
        wrong = here.command(*words)
        assert (wrong.code, wrong.out) == (2, ""), wrong
        assert said in wrong.err


def test_a_program_reads_how_a_cancellation_went(install: Install, tmp_path: Path) -> None:
    here = install("agents:Patient")
    here.router()
    here.worker("w0", "chat", TEST_NOTES=str(tmp_path))
    ask(here, "parked-1", "hang")
    here.flush()
    wait_for("it is parked", lambda: len(here.parked()) == 1)
    said = here.command("requests", "cancel", "parked-1", "--wait", "60s", "--json", answer="y\n")
    assert said.code == 0, said.err
    assert "Cancel it?" in said.err
    ended = json.loads(said.out.splitlines()[-1])  # after the answer, as a terminal shows it
    (answer,) = here.read(here.topics.outputs)
    assert ended == {
        "id": "parked-1",
        "action": "chat",
        "partitions": [answer.partition],
        "parked": True,
        "remembered": None,
        "outcome": "cancelled",
        "response": f"{answer.topic}/{answer.partition}/{answer.offset}",
    }
    where = ["--partition", str(answer.partition)]
    late = here.command("requests", "cancel", "parked-1", "--yes", *where, "--wait", "1s", "--json")
    assert (late.code, late.err) == (1, "")
    assert json.loads(late.out)["error"]["type"] == "no_response"
    queued = json.loads(here.command("requests", "cancel", "nobody", "--yes", "--remember", "60s", "--json").out)
    assert (queued["partitions"], queued["parked"], queued["remembered"]) == ([0, 1, 2], False, 60)
    assert (queued["outcome"], queued["response"]) == (None, None)


def test_ctrl_c_stops_a_command_that_waits(install: Install) -> None:
    here = install("agents:Patient", partitions=1)
    connection = ["-b", here.settings.bootstrap_servers, "--namespace", here.settings.namespace]
    command = [sys.executable, "-m", "parkway.cli", "requests", "cancel", "x", "--yes", "--wait", "1h", *connection]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
        wait_for("it has sent the cancellation", lambda: len(here.read(here.topics.events)) == 1)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=20)
    assert process.returncode in {1, 130}
    assert "Traceback" not in err
