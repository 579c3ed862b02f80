"""Processes die, partitions move, ids repeat: every request still ends once."""

import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from installation import Installation, event, installation, wait_for

from parkway.testing.kafka import PipKafka


def numbers(here: Installation) -> Counter[int]:
    return Counter(one.json["attributes"]["output"]["number"] for one in here.read(here.topics.outputs))


def test_a_killed_worker_loses_nothing_and_doubles_nothing(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router()
    first, _second = here.worker("w0", "process"), here.worker("w1", "process")
    here.wait_members(here.topics.worker_group("process"), 2)
    for number in range(400):
        here.emit(event("order", number=number, wait=0.3 if number % 7 else 1.5), key=f"k{number % 50}")
    here.flush()
    wait_for("some outputs", lambda: len(numbers(here)) > 20)
    first.kill()
    here.wait_read(here.topics.outputs, 400, seconds=60)
    here.wait_all_done()
    assert numbers(here) == Counter(range(400))
    assert here.read(here.topics.dlq) == []


def test_a_restart_does_not_run_again_what_is_completed_above_the_watermark(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    """One slow call keeps the watermark back; the map keeps the others completed."""
    here = install("agents:Orders", partitions=1)
    here.router()
    worker = here.worker("w0", "process", TEST_NOTES=str(tmp_path))
    here.emit(event("order", number=0, wait=3600))
    for number in range(1, 101):
        here.emit(event("order", number=number))
    here.flush()
    here.wait_read(here.topics.outputs, 100)
    worker.kill()
    worker.wait()
    notes = tmp_path / "process.notes"
    before = len(notes.read_text().splitlines())
    here.worker("w0", "process", TEST_NOTES=str(tmp_path))
    wait_for("the slow one starts again", lambda: len(notes.read_text().splitlines()) > before)
    for number in range(101, 111):
        here.emit(event("order", number=number))
    here.flush()
    here.wait_read(here.topics.outputs, 110)
    started = Counter(int(line) for line in notes.read_text().splitlines())
    assert started[0] == 2
    assert all(started[number] == 1 for number in range(1, 111))
    assert numbers(here) == Counter(range(1, 111))


def test_chats_survive_the_death_of_every_kind_of_process(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    slow = {"TEST_MODEL_SECONDS": "0.3", "TEST_TOOL_SECONDS": "0.2"}
    routers = [here.router("r0"), here.router("r1")]
    workers = {name: [here.worker(f"{name}-{i}", name, **slow) for i in (0, 1)] for name in ("ask", "chat", "tool")}
    here.worker("answer-0", "answer")
    here.wait_members(here.topics.worker_group("chat"), 2)
    here.wait_members(here.topics.router_group, 2)
    for number in range(150):
        here.emit(event("question", number=number, rounds=number % 4), key=f"k{number}")
    here.flush()
    victims = [workers["chat"][0], routers[0], workers["tool"][1], workers["ask"][0]]
    for done, victim in zip((5, 20, 40, 60), victims, strict=True):
        wait_for(f"{done} answers", lambda done=done: len(numbers(here)) >= done, 60)
        victim.kill()
    here.wait_read(here.topics.outputs, 150, seconds=90)
    here.wait_all_done()
    assert numbers(here) == Counter(range(150))
    assert here.parked() == {}
    assert here.read(here.topics.dlq) == []
    responses = [one for one in here.read(here.topics.events) if one.headers["parkway-type"] == b"_chat_response_event"]
    assert len(responses) == 150
    assert all(one.json["attributes"]["success"] for one in responses)


def test_records_of_one_key_keep_their_order_while_workers_come_and_go(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    here.router()
    first = here.worker("w0", "step")
    here.wait_members(here.topics.worker_group("step"), 1)
    for number in range(300):
        here.emit(event("step", number=number, wait=0.02), key=f"k{number % 10}")
    here.flush()
    wait_for("some outputs", lambda: len(numbers(here)) > 20)
    here.worker("w1", "step")
    here.wait_members(here.topics.worker_group("step"), 2)
    wait_for("more outputs", lambda: len(numbers(here)) > 80)
    first.kill()
    outputs = here.wait_read(here.topics.outputs, 300, seconds=60)
    by_key: dict[bytes | None, list[int]] = defaultdict(list)
    for one in outputs:
        by_key[one.key].append(one.json["attributes"]["output"]["number"])
    assert all(found == sorted(found) for found in by_key.values())
    assert numbers(here) == Counter(range(300))


def test_sigterm_finishes_what_runs_and_leaves_the_group(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("agents:Orders", partitions=1)
    here.router()
    worker = here.worker("w0", "process", TEST_NOTES=str(tmp_path))
    here.emit(event("order", number=1, wait=3.0))
    here.flush()
    wait_for("it runs", (tmp_path / "process.notes").exists)
    worker.terminate()
    assert worker.wait(30) == 0
    assert numbers(here) == Counter([1])
    here.wait_members(here.topics.worker_group("process"), 0)


def test_a_long_call_survives_rebalances_that_leave_its_partition_where_it_is(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    """`range` orders members by id, which begins with the client id: w0 keeps partition 0."""
    here = install("agents:Gates")
    here.router()
    here.worker("w0", TEST_NOTES=str(tmp_path))
    notes = tmp_path / "process.notes"
    at_least = time.monotonic() + float(os.environ.get("TEST_LONG_CALL", "0"))
    here.emit(event("order", number=1000, wait=1), partition=0)
    here.flush()
    wait_for("it runs", lambda: notes.exists() and notes.read_text() == "1000\n")
    for number in range(3):
        other = here.worker("w1")
        here.wait_members(here.topics.worker_group("process"), 2)
        for partition in range(3):
            here.emit(event("order", number=number * 3 + partition), partition=partition)
        here.flush()
        here.wait_read(here.topics.outputs, number * 3 + 3)
        other.terminate()
        other.wait()
        here.wait_members(here.topics.worker_group("process"), 1)
    time.sleep(max(0.0, at_least - time.monotonic()))
    (tmp_path / "open").touch()
    here.wait_read(here.topics.outputs, 10)
    assert numbers(here) == Counter([*range(9), 1000])
    assert notes.read_text().count("1000") == 1
    assert sum(line["event"] == "assigned" for line in here.log_lines("w0")) > 5, "five rebalances at least"
    here.wait_all_done_for("process")


def test_chats_go_on_over_rebalances(install: Callable[..., Installation], tmp_path: Path) -> None:
    """What a kept partition has in hand is not asked of the model again; what moves is, at most once a move."""
    here = install("agents:Chats")
    slow = {"TEST_MODEL_SECONDS": "1.0", "TEST_TOOL_SECONDS": "0.5"}
    here.router()
    here.worker("w0", **slow)
    here.wait_members(here.topics.worker_group("chat"), 1)
    for number in range(30):
        here.emit(event("question", number=number, rounds=number % 3), key=f"k{number}")
    here.flush()
    for _ in range(2):
        other = here.worker("w1", "chat", "tool", **slow)
        here.wait_members(here.topics.worker_group("chat"), 2)
        other.terminate()
        other.wait()
        here.wait_members(here.topics.worker_group("chat"), 1)
    here.wait_read(here.topics.outputs, 30)
    here.wait_all_done()
    assert numbers(here) == Counter(range(30))
    assert here.parked() == {}
    assert here.read(here.topics.dlq) == []


def test_a_zombie_that_wakes_up_writes_nothing(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders", partitions=1)
    here.router()
    zombie = here.worker("w0", "process")
    here.wait_members(here.topics.worker_group("process"), 1)
    for number in range(10):
        here.emit(event("order", number=number, wait=1.0))
    here.flush()
    wait_for("the records are taken", lambda: len(here.read(here.topics.action("process"))) == 10)
    os.kill(zombie.pid, signal.SIGSTOP)
    here.worker("w1", "process")
    here.wait_read(here.topics.outputs, 10, seconds=60)
    os.kill(zombie.pid, signal.SIGCONT)
    for number in range(10, 30):
        here.emit(event("order", number=number))
    here.flush()
    here.wait_read(here.topics.outputs, 30, seconds=60)
    here.wait_members(here.topics.worker_group("process"), 2)
    here.wait_all_done_for("process")
    assert numbers(here) == Counter(range(30))


def test_one_end_per_request_id(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats", partitions=1)
    here.router()
    here.worker("w0", TEST_MODEL_SECONDS="1.0")
    request = event(
        "_chat_request_event", "same", model="assistant", messages=[{"role": "user", "content": "1 rounds for 1"}]
    )
    other = event(
        "_chat_request_event", "same", model="assistant", messages=[{"role": "user", "content": "1 rounds for 2"}]
    )
    for one in (request, request, other):
        here.emit(one)
    here.flush()
    wait_for("it is parked", here.parked, 30)
    here.emit(request)
    here.emit(other)
    here.flush()
    here.wait_read(here.topics.outputs, 1)
    dead = here.wait_read(here.topics.dlq, 2)
    here.wait_all_done()
    assert [one.headers["parkway-error-type"] for one in dead] == [b"duplicate_request_id"] * 2
    assert len(here.read(here.topics.outputs)) == 1
    assert here.parked() == {}
    here.emit(request)  # after the end a repeat is a new request
    here.flush()
    assert len(here.wait_read(here.topics.outputs, 2)) == 2


def test_the_deadline_ends_a_parked_request_in_a_failed_response(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    here.router()
    here.worker("w0", "chat")  # nobody runs tools
    request = event(
        "_chat_request_event",
        "late",
        model="assistant",
        messages=[{"role": "user", "content": "1 rounds for 1"}],
        user_context={"number": 1},
    )
    now = here.broker_time()
    here.emit(request, headers={"parkway-deadline": str(now + 5_000)})
    here.emit({**request, "id": "too-late"}, headers={"parkway-deadline": str(now - 1)})
    here.flush()
    responses = {one.json["attributes"]["request_id"]: one for one in here.wait_read(here.topics.outputs, 2)}
    for response in responses.values():
        attributes = response.json["attributes"]
        assert attributes["error"]["type"] == "deadline_exceeded"
        assert attributes["user_context"] == {"number": 1}
    assert here.parked() == {}
    # The tool answers after the end: nobody waits for it.
    here.worker("w1", "tool")
    here.wait_all_done()
    assert len(here.read(here.topics.outputs)) == 2


def test_a_result_that_kafka_refuses_does_not_stop_the_others(install: Callable[..., Installation]) -> None:
    here = install("agents:Large", partitions=1)
    here.router()
    here.worker("w0")
    for size in (10, 3_000_000, 10, 5_000_000, 10):
        here.emit(event("make", size=size))
    here.flush()
    dead = here.wait_read(here.topics.dlq, 2)
    assert [one.headers["parkway-error-type"] for one in dead] == [b"action_failed", b"action_failed"]
    here.wait_read(here.topics.outputs, 3)
    here.wait_all_done()
    assert len(here.read(here.topics.outputs)) == 3


@pytest.mark.timeout(240)
def test_a_broker_that_dies_and_comes_back_loses_nothing(tmp_path: Path) -> None:
    """Nor does it end a process, whatever became of its transactions."""
    with (
        PipKafka(data_dir=tmp_path / "kafka") as kafka,
        installation(kafka.bootstrap_servers, "comes-back", "agents:Chats", tmp_path) as here,
    ):
        running = [here.router(), here.worker()]
        for number in range(60):
            here.emit(event("question", number=number, rounds=number % 3), key=f"k{number}")
        here.flush()
        wait_for("some answers", lambda: len(numbers(here)) > 5, 60)
        kafka.kill(1)
        wait_for("it is gone", lambda: not kafka.pids)
        kafka.restart(1)

        def answered() -> bool:
            assert all(process.poll() is None for process in running), here.logs()
            return len(numbers(here)) >= 60

        wait_for("all answers", answered, 120)
        here.wait_all_done(90)
        assert numbers(here) == Counter(range(60))
        assert here.parked() == {}
