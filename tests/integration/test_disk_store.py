"""Parked entries on disk: nothing depends on them but memory."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from installation import Installation, event, wait_for


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    parked = tmp_path / "parked"
    monkeypatch.setenv("PARKWAY_PARKED_STORE", "disk")
    monkeypatch.setenv("PARKWAY_PARKED_DIR", str(parked))
    return parked


def test_a_worker_that_is_killed_restores_from_kafka_and_clears_what_it_left(
    install: Callable[..., Installation], folder: Path
) -> None:
    here = install("agents:Chats", partitions=2)
    here.router()
    worker = here.worker("w0", "chat")
    here.worker("w1", "ask", "answer")
    for number in range(40):
        here.emit(event("question", number=number, rounds=1), partition=number % 2)
    here.flush()
    wait_for("forty are parked", lambda: len(here.parked()) == 40)
    late = event(
        "_chat_request_event", "late", model="assistant", messages=[{"role": "user", "content": "1 rounds for 99"}]
    )
    deadline = int(time.time() * 1000) + 15_000
    here.emit(late, partition=0, headers={"parkway-deadline": str(deadline)})
    here.flush()
    wait_for("all are parked", lambda: len(here.parked()) == 41)
    mine = folder / f"{here.settings.namespace}.w0" / "chat"
    assert any(mine.iterdir())
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    (mine / "left").touch()
    again = here.worker("w0", "chat")
    wait_for("it is restored", lambda: [one for one in restored(here, "w0") if one["parked"] == 41])
    assert not (mine / "left").exists()
    (answer,) = here.wait_read(here.topics.outputs, 1)
    assert (answer.json["attributes"]["request_id"], answer.json["attributes"]["success"]) == ("late", False)
    assert int(time.time() * 1000) >= deadline
    here.worker("w2", "tool")
    here.wait_read(here.topics.outputs, 41)
    here.wait_all_done()
    found = [one.json["attributes"] for one in here.read(here.topics.outputs)]
    assert Counter(one["output"]["number"] for one in found if "output" in one) == Counter(range(40))
    assert all(one["output"]["success"] for one in found if "output" in one)
    assert here.parked() == {}
    again.terminate()
    assert again.wait(30) == 0
    assert not mine.parent.exists(), "removed when the process ends"
    assert folder.exists()


def restored(here: Installation, name: str) -> list[dict[str, object]]:
    return [line for line in here.log_lines(name) if line["event"] == "restored"]


def test_a_folder_that_cannot_be_written_is_a_wrong_setting(install: Callable[..., Installation], folder: Path) -> None:
    here = install("agents:Chats", partitions=1)
    folder.touch()
    said = here.parkway("worker", here.agent, "--instance", "w0", "--action", "chat")
    assert said.returncode == 2
    assert said.stderr.splitlines()[-1].startswith(f"error: {folder}{os.sep}")
    assert "PARKWAY_PARKED_DIR" in said.stderr
