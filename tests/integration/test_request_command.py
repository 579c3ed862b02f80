"""`parkway request` and `parkway tail`, as their users call them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from installation import PYTHONPATH, Installation, event, wait_for

Install = Callable[..., Installation]


def test_requests_are_answered_and_failures_are_exit_1(install: Install, tmp_path: Path) -> None:
    here = install("agents:Chats")
    here.router()
    here.worker("w0")
    one = here.command("request", "--text", "0 rounds for 7", "--key", "Ann", "--tenant", "acme")
    assert (one.code, one.out) == (0, "7: []\n"), one
    (asked,) = here.read(here.topics.action("chat"))
    assert (asked.key, asked.headers["parkway-tenant"]) == (b"Ann", b"acme")

    lines = tmp_path / "questions.jsonl"
    lines.write_text("\n".join(json.dumps({"rounds": 0, "number": number}) for number in range(5)))
    many = here.command("request", str(lines), "--type", "question", "--key-from", "attributes.number", "--json")
    outputs = [json.loads(line)["attributes"]["output"] for line in many.out.splitlines()]
    assert (many.code, sorted(output["number"] for output in outputs)) == (0, [0, 1, 2, 3, 4])

    failed = here.command("request", "--text", "hi", "--model", "nobody")
    assert (failed.code, failed.out.startswith("failed: unknown_model: ")) == (1, True)
    dead = here.command("request", "--json", answer=json.dumps(event("secret", "s-1")))
    assert dead.code == 1
    assert json.loads(dead.out)["error"]["type"] == "dead_lettered"
    late = here.command("request", "--timeout", "0.001s", "--text", "9 rounds for 7")
    assert (late.code, late.out) == (1, "")
    assert "within 0.001 s" in late.err
    for words, said in (
        (["request", "--text", "hi", "--type", "x"], "leave FILE and --type out"),
        (["request", "nowhere.jsonl"], "No such file"),
        (["request", "--text", "x", "--namespace", "nobody"], "missing topic nobody.requests"),
        (["request", "--text", "x", "--timeout", "soon"], "10m"),
        (["tail", "--namespace", "nobody"], "missing topic nobody.outputs"),
    ):
        wrong = here.command(*words)
        assert (wrong.code, wrong.out) == (2, ""), wrong
        assert said in wrong.err

    tail = ["tail", "--since", "1h"]
    shown = here.command(*tail, "--wait", "30s", "--type", "_chat_response_event", "--count", "1", "--key", "Ann")
    assert shown.out.endswith("  _chat_response_event  7: []\n")
    found = here.command(*tail, "--wait", "5s", "--dlq", "--json", "--count", "6", "--type", "_output_event")
    assert (found.code, found.out.count("\n")) == (1, 5)
    one = here.command("request", answer=json.dumps(event("question", "q-9", rounds=0, number=9)))
    assert (one.code, json.loads(one.out)["number"]) == (0, 9)
    only = here.command(*tail, "--wait", "30s", "--root", "q-9", "--count", "1")
    assert (only.code, only.out.split("  ")[1:3]) == (0, ["q-9", "_output_event"])


def test_ctrl_c_cancels_what_is_under_way(install: Install) -> None:
    here = install("agents:Patient", partitions=1)
    here.router()
    here.worker("w0")
    connection = ["-b", here.settings.bootstrap_servers, "--namespace", here.settings.namespace]
    command = [sys.executable, "-m", "parkway.cli", "request", "--text", "1 model", "--timeout", "1h", *connection]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": PYTHONPATH}
    ) as process:
        wait_for("it runs", lambda: len(here.read(here.topics.action("chat"))) == 1, 60)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    (response,) = here.wait_read(here.topics.outputs, 1)
    assert response.json["attributes"]["error"]["type"] == "cancelled"
