"""A worker's producer dies while the process lives: calls go on, results are produced again, answers come once."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from installation import Installation, event, installation, wait_for

from parkway.runtime.transactions import TransactionalProducer
from parkway.testing.kafka import PipKafka


def numbers(here: Installation) -> Counter[int]:
    return Counter(one.json["attributes"]["output"]["number"] for one in here.read(here.topics.outputs))


def notes(folder: Path, name: str) -> list[str]:
    path = folder / f"{name}.notes"
    return path.read_text().splitlines() if path.exists() else []


def events(here: Installation, instance: str, name: str) -> list[dict[str, object]]:
    return [line for line in here.log_lines(instance) if line["event"] == name]


@pytest.mark.timeout(240)
def test_calls_run_on_while_the_broker_is_away_longer_than_a_transaction_may_last(tmp_path: Path) -> None:
    """The broker stands still with a transaction open; when it goes on it aborts that, and fences its producer."""
    overrides = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
    with (
        PipKafka(data_dir=tmp_path / "kafka", overrides=overrides) as kafka,
        installation(kafka.bootstrap_servers, "recovers", "agents:Orders", tmp_path) as here,
    ):
        worker = here.faulty_worker(
            "w0",
            "process",
            faults="before_commit:too-long@3",
            FAULT_SECONDS="8",
            TEST_NOTES=str(tmp_path),
            PARKWAY_TRANSACTION_TIMEOUT="3",
            PARKWAY_SESSION_TIMEOUT="60",
        )
        here.wait_members(here.topics.worker_group("process"), 1)

        def emit(numbers: range, wait: float) -> None:
            for number in numbers:
                here.emit(event("order", number=number, wait=wait), topic=here.topics.action("process"))
            here.flush()

        emit(range(50), 20.0)
        wait_for("fifty run", lambda: len(notes(tmp_path, "process")) == 50)
        emit(range(50, 350), 0.1)
        wait_for("others finish", lambda: len(notes(tmp_path, "process")) > 150)
        kafka.pause(1)
        time.sleep(5)  # the case under test: longer than a transaction may last
        kafka.resume(1)
        here.wait_read(here.topics.outputs, 350, seconds=120)
        here.wait_all_done_for("process")
        assert worker.poll() is None
        assert any(one["fenced"] for one in events(here, "w0", "producer_made_anew"))
        assert numbers(here) == Counter(range(350))
        assert Counter(notes(tmp_path, "process")) == Counter(str(number) for number in range(350))


@pytest.mark.parametrize("place", ["after_commit", "before_commit"])
def test_a_model_is_asked_once_whatever_becomes_of_the_transaction_with_its_answer(
    install: Callable[..., Installation], tmp_path: Path, place: str
) -> None:
    here = install("agents:Chats")
    here.router()
    for number in range(20):
        here.emit(event("question", number=number, rounds=number % 3), key=f"k{number}")
    here.flush()
    here.worker("w0", "ask", "answer", "tool", TEST_NOTES=str(tmp_path))
    chat = here.faulty_worker("w1", "chat", faults=f"{place}:fatal@4", TEST_NOTES=str(tmp_path))
    here.wait_read(here.topics.outputs, 20)
    here.wait_all_done()
    assert chat.poll() is None
    (resolved,) = events(here, "w1", "outcome_resolved")
    assert resolved["committed"] is (place == "after_commit")
    assert numbers(here) == Counter(range(20))
    assert here.parked() == {}
    assert len(notes(tmp_path, "model")) == sum(number % 3 + 1 for number in range(20))
    assert len(notes(tmp_path, "lookup")) == sum(number % 3 for number in range(20))


def test_a_stranger_of_the_same_instance_is_survived_once(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("agents:Orders")
    here.router()
    worker = here.worker("w0", "process", TEST_NOTES=str(tmp_path), PARKWAY_TRANSACTION_TIMEOUT="60")
    here.wait_members(here.topics.worker_group("process"), 1)
    transactional_id = f"{here.settings.namespace}.worker.process.w0.0"

    def fence(first: int) -> None:
        TransactionalProducer(here.settings, transactional_id).open()
        for number in range(first, first + 10):
            here.emit(event("order", number=number))
        here.flush()

    for number in range(10):
        here.emit(event("order", number=number))
    here.flush()
    here.wait_read(here.topics.outputs, 10)
    fence(10)
    here.wait_read(here.topics.outputs, 20)
    assert worker.poll() is None
    fence(20)
    assert worker.wait(30) == 2
    assert "instance 'w0'" in here.logs()
    here.worker("w0", "process", TEST_NOTES=str(tmp_path))
    here.wait_read(here.topics.outputs, 30)
    assert numbers(here) == Counter(range(30))
    ran = Counter(notes(tmp_path, "process"))
    assert all(ran[str(number)] == 1 for number in range(20))
