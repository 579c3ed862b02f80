"""A key that fails with a long back-off, and more behind it than a worker holds: its own records wait, no others."""

from collections.abc import Callable
from pathlib import Path

from installation import Installation, event, wait_for

Numbers = list[tuple[bytes | None, int]]


def attempts(folder: Path, name: str) -> list[str]:
    path = folder / f"{name}.notes"
    return path.read_text().split() if path.exists() else []


def outputs(here: Installation) -> Numbers:
    return [(one.key, one.json["attributes"]["output"]["number"]) for one in here.read(here.topics.outputs)]


def emit_others(here: Installation, action: str, partitions: range, numbers: range) -> Numbers:
    """Records of other keys, and what they give."""
    for partition in partitions:
        for number in numbers:
            here.emit(event(action, number=number), key=f"other-{partition}", partition=partition)
    here.flush()
    return [(f"other-{partition}".encode(), number) for partition in partitions for number in numbers]


def test_other_keys_and_partitions_go_on(install: Callable[..., Installation], tmp_path: Path) -> None:
    """7,000 records behind a key whose next attempt is 45 s away at least: all others are done within that time."""
    here = install("queue_agents:Retries")
    here.router()
    here.worker("w0", "slowly", TEST_NOTES=str(tmp_path))
    here.emit(event("slowly", number=0, failures=1), key="hot", partition=0)
    for number in range(1, 7_000):
        here.emit(event("slowly", number=number), key="hot", partition=0)
        here.poll_producer()
    here.flush()
    wait_for("its first attempt", lambda: attempts(tmp_path, "slowly") == ["0/1"])
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    expected = emit_others(here, "slowly", range(3), range(10_000, 10_300))
    here.wait_read(here.topics.outputs, len(expected), seconds=30)
    assert outputs(here) == expected
    assert [one for one in attempts(tmp_path, "slowly") if int(one.split("/")[0]) < 10_000] == ["0/1"]


def test_a_partition_that_holds_up_too_much_waits_alone_and_goes_on(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    """Room for some 400 small records: partition 0 is paused and taken up again, time after time; nothing is lost."""
    here = install("queue_agents:Retries")
    here.router()
    hot = 900
    for number in range(hot):
        here.emit(event("flaky", number=number, failures=3 if number in {0, 500} else 0), key="hot", partition=0)
    here.flush()
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    here.worker("w0", "flaky", TEST_NOTES=str(tmp_path), PARKWAY_BUFFER_BYTES="1000000")
    wait_for("partition 0 is held up", lambda: _held_up(here) == [0])
    expected = emit_others(here, "flaky", range(1, 3), range(10_000, 10_400))
    here.wait_read(here.topics.outputs, hot + len(expected), seconds=60)
    here.wait_all_done_for("flaky")
    assert outputs(here) == [(b"hot", number) for number in range(hot)] + expected
    run = attempts(tmp_path, "flaky")
    assert run.index("10399/1") < run.index("0/4"), "the other partitions waited"
    assert [one for one in run if one.startswith(("0/", "500/"))] == [f"{n}/{a}" for n in (0, 500) for a in range(1, 5)]


def _held_up(here: Installation) -> list[int]:
    lines = [line for line in here.log_lines("w0") if line["event"] == "partitions_held_up"]
    return lines[-1]["partitions"] if lines else []


def test_large_records_behind_a_failing_key_hold_up_no_other_partition(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    """They are taken while the only handler is busy, when nobody knows that they will wait behind a key."""
    here = install("queue_agents:Retries")
    here.router()
    here.emit(event("flaky", number=1_000, wait=3.0), key="slow", partition=0)
    here.emit(event("flaky", number=0, failures=3), key="hot", partition=0)
    hot = 200
    for number in range(1, hot):
        here.emit(event("flaky", number=number, filling="x" * 150_000), key="hot", partition=0)
    here.flush()
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    here.worker("w0", "flaky", TEST_NOTES=str(tmp_path), PARKWAY_BUFFER_BYTES="16000000")
    wait_for("the failing one has its turn", lambda: "0/1" in attempts(tmp_path, "flaky"))
    expected = emit_others(here, "flaky", range(1, 3), range(10_000, 10_100))
    here.wait_read(here.topics.outputs, hot + 1 + len(expected), seconds=60)
    here.wait_all_done_for("flaky")
    assert outputs(here) == [(b"slow", 1_000), *((b"hot", number) for number in range(hot)), *expected]
    run = attempts(tmp_path, "flaky")
    assert run.index("10099/1") < run.index("0/4"), "the other partitions waited"
