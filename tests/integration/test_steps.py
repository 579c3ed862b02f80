"""`ctx.step`: a recorded result is not computed again, whatever becomes of the process that computed it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from installation import Installation, event, wait_for


def noted(folder: Path, name: str) -> Counter[str]:
    path = folder / f"{name}.notes"
    return Counter(path.read_text().split()) if path.exists() else Counter()


def outputs(here: Installation) -> Counter[int]:
    return Counter(one.json["attributes"]["output"]["number"] for one in here.read(here.topics.outputs))


def once(count: int) -> Counter[str]:
    return Counter(map(str, range(count)))


def test_a_step_is_not_computed_again_after_a_kill(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("memory_agents:Payments", partitions=2)
    here.router()
    worker = here.worker("w0", TEST_NOTES=str(tmp_path))
    for number in range(20):
        here.emit(event("pay", number=number, wait=1.0))
        here.emit(event("pay-sync", number=100 + number, wait=1.0))
    here.flush()
    parcels = once(20) + Counter(str(100 + number) for number in range(20))
    wait_for("all steps are committed", lambda: len(here.parked()) == 60)
    assert noted(tmp_path, "charge") == once(20)
    assert noted(tmp_path, "ship") == parcels
    worker.kill()
    worker.wait()
    listed = here.command("parked", "list", "--action", "pay")
    assert listed.out.count(" step ") == 40
    here.worker("w1", TEST_NOTES=str(tmp_path))
    # Both have begun anew where the steps end, and get their results.
    wait_for("they run again", lambda: sum(noted(tmp_path, "charged").values()) == 40)
    (tmp_path / "open").touch()
    here.wait_read(here.topics.outputs, 40)
    here.wait_all_done()
    assert outputs(here) == Counter([*range(20), *range(100, 120)])
    assert noted(tmp_path, "charge") == once(20)
    assert noted(tmp_path, "ship") == parcels
    assert here.parked() == {}
    assert here.read(here.topics.dlq) == []


def test_steps_over_rebalances(install: Callable[..., Installation], tmp_path: Path) -> None:
    """A handler that stays goes on; one that moves finds its steps at the other worker."""
    here = install("memory_agents:Payments", partitions=4)
    group = here.topics.worker_group("pay")
    topic = here.topics.action("pay")
    here.worker("w0", "pay", TEST_NOTES=str(tmp_path))
    here.wait_members(group, 1)
    for number in range(20):
        here.emit(event("pay", number=number, wait=1.0), topic=topic, partition=number % 4)
    here.flush()
    wait_for("all steps are committed", lambda: len(here.parked()) == 40)
    here.worker("w1", "pay", TEST_NOTES=str(tmp_path))
    here.wait_members(group, 2)
    # Half of the partitions have moved: their handlers begin again at w1, the others run on at w0.
    wait_for("what moved runs again", lambda: sum(noted(tmp_path, "charged").values()) == 30)
    (tmp_path / "open").touch()
    here.wait_read(here.topics.outputs, 20)
    here.wait_all_done_for("pay")
    assert outputs(here) == Counter(range(20))
    assert noted(tmp_path, "charge") == once(20)
    assert noted(tmp_path, "ship") == once(20)
    assert here.parked() == {}


def test_a_retry_and_the_dlq(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("memory_agents:Payments", partitions=1)
    here.router()
    here.worker("w0", TEST_NOTES=str(tmp_path), PARKWAY_MAX_PARKED_BYTES="5000")
    here.emit(event("pay", number=1, fails=2))
    here.emit(event("pay", number=2, fails=3))  # of three attempts
    here.emit(event("too-much", "much", number=6000))
    here.flush()
    dead = here.wait_read(here.topics.dlq, 2)
    here.wait_read(here.topics.outputs, 1)
    here.wait_all_done()
    assert noted(tmp_path, "charge") == Counter(["1", "2"])
    assert noted(tmp_path, "charged") == Counter(["1", "2"] * 3)
    assert outputs(here) == Counter([1])
    assert here.parked() == {}
    assert {one.headers["parkway-error-type"] for one in dead} == {b"action_failed"}
    assert any(b"StepError" in one.headers["parkway-error-message"] for one in dead)
