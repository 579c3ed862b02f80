"""What fails is tried again: slots stay free, keys stay in order, attempts are counted over deaths."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from installation import Installation, event, wait_for


def notes(folder: Path, name: str) -> list[str]:
    path = folder / f"{name}.notes"
    return path.read_text().split() if path.exists() else []


def outputs(here: Installation) -> list[tuple[bytes | None, int]]:
    return [(one.key, one.json["attributes"]["output"]["number"]) for one in here.read(here.topics.outputs)]


def test_back_off_frees_the_slot_and_keeps_the_key(install: Callable[..., Installation], tmp_path: Path) -> None:
    """One slot only: while the first of key `a` waits 3.5 s for its attempts, key `b` flows, the rest of `a` does not."""
    here = install("queue_agents:Retries", partitions=1)
    here.router()
    here.emit(event("flaky", number=0, failures=3), key="a")
    for number in range(1, 4):
        here.emit(event("flaky", number=number, failures=number == 2), key="a")
    for number in range(100, 120):
        here.emit(event("flaky", number=number), key="b")
    here.flush()
    here.worker("w0", "flaky", TEST_NOTES=str(tmp_path))
    here.wait_read(here.topics.outputs, 24)
    here.wait_all_done_for("flaky")
    found = outputs(here)
    assert [number for key, number in found if key == b"a"] == [0, 1, 2, 3]
    assert [number for key, number in found if key == b"b"] == list(range(100, 120))
    run = notes(tmp_path, "flaky")
    assert [one for one in run if int(one.split("/")[0]) < 100] == [
        "0/1",
        "0/2",
        "0/3",
        "0/4",
        "1/1",
        "2/1",
        "2/2",
        "3/1",
    ]
    assert run.index("119/1") < run.index("0/3"), "the other key waited for the slot"
    assert here.read(here.topics.dlq) == []


def test_attempts_are_counted_over_a_kill(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("queue_agents:Retries", partitions=1)
    here.router()
    worker = here.worker("w0", "patient", TEST_NOTES=str(tmp_path))
    here.emit(event("patient", "p", number=1), key="a")
    here.flush()
    wait_for("the third attempt", lambda: notes(tmp_path, "patient")[-1:] == ["3"])
    wait_for("its commit", lambda: here.attempts("patient") == {0: 3})
    worker.kill()
    worker.wait()
    here.worker("w0", "patient", TEST_NOTES=str(tmp_path))
    (dead,) = here.wait_read(here.topics.dlq, 1, seconds=60)
    assert notes(tmp_path, "patient") == ["1", "2", "3", "4", "5", "6"]
    assert dead.headers["parkway-attempt"] == b"6"
    assert dead.headers["parkway-error-type"] == b"action_failed"
    assert dead.headers["parkway-origin"] == f"{here.topics.action('patient')}/0/0".encode()
    assert "always" not in str(dead.headers)
    here.wait_all_done_for("patient")


def test_restarts_and_rebalances_use_up_no_attempts(install: Callable[..., Installation], tmp_path: Path) -> None:
    """A deployment is many of them within a minute: whoever takes the record over waits for the rest of the back-off."""
    here = install("queue_agents:Retries", partitions=1)
    here.router()
    worker = here.worker("w0", "slowly", TEST_NOTES=str(tmp_path))
    here.emit(event("slowly", number=1, failures=1), key="a")
    here.flush()
    wait_for("the first attempt is committed", lambda: here.attempts("slowly") == {0: 1})
    for restart in (2, 3):
        worker.terminate()
        assert worker.wait(30) == 0
        worker = here.worker("w0", "slowly", TEST_NOTES=str(tmp_path))
        here.emit(event("slowly", number=restart), key="b")
        here.flush()
        here.wait_read(here.topics.outputs, restart - 1)
    assert notes(tmp_path, "slowly") == ["1/1", "2/1", "3/1"]
    assert here.attempts("slowly") == {0: 1}


def test_a_rebalance_in_the_middle_of_back_off_loses_no_attempt(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    here = install("queue_agents:Retries", partitions=1)
    here.router()
    here.worker("w0", "flaky", TEST_NOTES=str(tmp_path))
    for number in range(3):
        here.emit(event("flaky", number=number, failures=3), key="a")
    here.flush()
    wait_for("it is tried", lambda: len(notes(tmp_path, "flaky")) >= 2)
    other = here.worker("w1", "flaky", TEST_NOTES=str(tmp_path))
    here.wait_members(here.topics.worker_group("flaky"), 2)
    other.terminate()
    assert other.wait(30) == 0
    here.wait_read(here.topics.outputs, 3)
    here.wait_all_done_for("flaky")
    assert [number for _, number in outputs(here)] == [0, 1, 2]
    assert Counter(notes(tmp_path, "flaky")) == Counter(f"{n}/{attempt}" for n in range(3) for attempt in range(1, 5))


def test_timeouts_and_deadlines_of_user_actions(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("queue_agents:Retries", partitions=1)
    here.router()
    here.worker("w0", "timed", "urgent", TEST_NOTES=str(tmp_path), PARKWAY_CAPTURE_CONTENT="true")
    here.wait_members(here.topics.worker_group("urgent"), 1)
    deadline = here.broker_time() + 10_000
    for name, number, wait, until in (
        ("timed", 1, 30, None),
        ("overdue", 2, 0, deadline - 11_000),
        ("fine", 3, 0, deadline + 600_000),
        ("urgent", 4, 25, deadline),
    ):
        kind = "urgent" if name == "urgent" else "timed"
        headers = {"parkway-deadline": str(until)} if until is not None else {}
        here.emit(event(kind, name, number=number, wait=wait), headers=headers)
    here.flush()
    dead = {one.json["id"]: one.headers for one in here.wait_read(here.topics.dlq, 3)}
    assert {name: headers["parkway-error-type"] for name, headers in dead.items()} == {
        "timed": b"action_failed",
        "overdue": b"deadline_exceeded",
        "urgent": b"deadline_exceeded",
    }
    assert dead["timed"]["parkway-attempt"] == b"2"
    assert dead["timed"]["parkway-error-message"] == b"TimeoutError: the attempt took longer than 0.3 s (timeout)"
    assert dead["timed"]["parkway-error-traceback"].endswith(b"longer than 0.3 s (timeout)\n")
    assert dead["overdue"]["parkway-error-message"] == b"event 'overdue' was not handled by its deadline"
    assert Counter(notes(tmp_path, "timed")) == Counter({"1": 2, "3": 1})
    assert notes(tmp_path, "urgent") == [str(deadline / 1000)]
    assert [number for _, number in outputs(here)] == [3]
