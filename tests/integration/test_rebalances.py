"""What is promised of rebalances, restarts and drains, under load."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from installation import Installation, event, installation, wait_for

from parkway.runtime.clients import manual_consumer
from parkway.testing.kafka import PipKafka

WORKERS = int(os.environ.get("TEST_ROLLING_WORKERS", "6"))  # ten take a minute more on a small machine
STALL = float(os.environ.get("TEST_STALL_SECONDS", "2.0"))


def numbers(here: Installation) -> Counter[int]:
    return Counter(one.json["attributes"]["output"]["number"] for one in here.read(here.topics.outputs))


def lines(here: Installation, instance: str, name: str) -> list[dict[str, object]]:
    return [line for line in here.log_lines(instance) if line["event"] == name]


class Load(threading.Thread):
    """Orders at a steady rate, straight into the action's topic."""

    def __init__(self, here: Installation) -> None:
        super().__init__(daemon=True)
        self._here = here
        self._stop_emitting = threading.Event()
        self.emitted = 0

    def run(self) -> None:
        topic = self._here.topics.action("process")
        while not self._stop_emitting.wait(0.02):
            order = event("order", number=self.emitted, wait=0.1)
            self._here.emit(order, topic=topic, partition=self.emitted % self._here.partitions)
            self.emitted += 1
        self._here.flush()

    def stop(self) -> None:
        self._stop_emitting.set()
        self.join()


def output_times(here: Installation) -> dict[int, list[float]]:
    """By partition: seconds since 1970 at which the committed outputs were produced."""
    ends = here.high_watermarks(here.topics.outputs)
    consumer = manual_consumer(here.settings, "tests-times", **{"enable.partition.eof": True})
    consumer.assign([TopicPartition(here.topics.outputs, partition, 0) for partition in ends])
    found: dict[int, list[float]] = {partition: [] for partition in ends}
    while any(one.offset < ends[one.partition] for one in consumer.position(consumer.assignment())):
        for message in consumer.consume(1000, 0.1):
            if message.error() is None:
                found[message.partition() or 0].append(message.timestamp()[1] / 1000)
    consumer.close()
    return found


def longest_gap(times: dict[int, list[float]], begin: float, end: float) -> float:
    """Of any partition: the others must not hide the one that stands still."""
    longest = 0.0
    for found in times.values():
        within = [begin, *sorted(one for one in found if begin <= one <= end), end]
        longest = max(longest, *(after - before for before, after in pairwise(within)))
    return longest


@pytest.mark.timeout(300)
def test_a_rolling_restart_stalls_nothing(install: Callable[..., Installation]) -> None:
    """All workers are restarted one after the other; the stretch before is the control."""
    here = install("agents:Orders", partitions=WORKERS)
    group = here.topics.worker_group("process")
    running = {f"w{number}": here.worker(f"w{number}", "process") for number in range(WORKERS)}
    here.wait_members(group, WORKERS, seconds=120)
    load = Load(here)
    load.start()
    wait_for("outputs", lambda: sum(numbers(here).values()) > 100)
    control_begins = time.time()
    time.sleep(8)  # the control run
    restarts_begin = time.time()
    for name, process in running.items():
        process.terminate()
        assert process.wait(60) == 0
        running[name] = here.worker(name, "process")
        here.wait_members(group, WORKERS)
    restarts_end = time.time()
    load.stop()
    here.wait_read(here.topics.outputs, load.emitted)
    here.wait_all_done_for("process")
    assert numbers(here) == Counter(range(load.emitted))
    times = output_times(here)
    control = longest_gap(times, control_begins, restarts_begin)
    stall = longest_gap(times, restarts_begin, restarts_end)
    found = f"longest gap: {control:.2f} s without restarts, {stall:.2f} s with {WORKERS} of them"
    print(found)  # noqa: T201  pytest -s: how far from the bar it is
    assert stall < STALL + control, found


def test_results_that_a_revoke_could_not_wait_for_are_not_computed_again(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    """A commit that takes longer than a revoke waits: what is finished behind it is adopted with its partition."""
    here = install("agents:Orders", partitions=2)
    topic = here.topics.action("process")
    begin = tmp_path / "begin"
    slow = {"FAULT_WHEN": str(begin), "FAULT_SECONDS": "25", "PARKWAY_TRANSACTION_TIMEOUT": "60"}
    here.faulty_worker("w0", "process", faults="before_commit:too-long@1", TEST_NOTES=str(tmp_path), **slow)
    other = here.worker("w1", "process")  # `range`: partition 0 stays with w0
    here.wait_members(here.topics.worker_group("process"), 2)
    here.emit(event("order", number=0, wait=0), topic=topic, partition=0)
    here.flush()
    here.wait_read(here.topics.outputs, 1)  # so the epoch's own first transaction is over: nothing runs before it
    begin.touch()
    for number in range(1, 20):
        here.emit(event("order", number=number, wait=number / 20), topic=topic, partition=0)
    here.flush()
    notes = tmp_path / "process.notes"
    wait_for("all run", lambda: notes.exists() and len(notes.read_text().split()) == 20)
    other.terminate()
    wait_for("the revoke", lambda: lines(here, "w0", "results_not_committed_in_time"))
    here.wait_read(here.topics.outputs, 20)
    here.wait_all_done_for("process")
    assert numbers(here) == Counter(range(20))
    assert Counter(notes.read_text().split()) == Counter(map(str, range(20)))


@contextmanager
def open_transaction(here: Installation, topic: str) -> Iterator[None]:
    """Somebody died and left a transaction open: readers of partition 0 wait until it is aborted."""
    producer = Producer(
        {
            "bootstrap.servers": here.settings.bootstrap_servers,
            "transactional.id": "dead",
            "transaction.timeout.ms": 600_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"never", b"never/chat", 0)
    producer.flush()
    yield
    producer.abort_transaction(30)


def test_a_restore_longer_than_the_poll_interval_costs_no_membership(install: Callable[..., Installation]) -> None:
    here = install("agents:Replies", partitions=1)
    messages = [{"role": "user", "content": "0 rounds for 1"}]
    here.emit(
        event("_chat_request_event", "one", model="assistant", messages=messages), topic=here.topics.action("chat")
    )
    here.flush()
    with open_transaction(here, here.topics.parked):
        here.worker("w0", "chat", PARKWAY_KAFKA_MAX_POLL_INTERVAL_MS="7000")
        wait_for("its restore begins", lambda: lines(here, "w0", "assigned"))
        time.sleep(12)  # the case under test: longer than the poll interval
        assert not lines(here, "w0", "restored")
    wait_for("it is restored", lambda: lines(here, "w0", "restored"))
    here.wait_all_done_for("chat")
    assert len(lines(here, "w0", "assigned")) == 1
    assert lines(here, "w0", "revoked") == []


def test_offsets_that_a_tool_has_set_are_obeyed(install: Callable[..., Installation], tmp_path: Path) -> None:
    """The map does not belong to them, and is ignored: everything from there on runs, also what was completed."""
    here = install("agents:Gates", partitions=1)
    topic, group = here.topics.action("process"), here.topics.worker_group("process")
    for number in range(101):
        here.emit(event("order", number=number, wait=float(number == 0)), topic=topic)
    here.flush()
    worker = here.worker("w0", "process", TEST_NOTES=str(tmp_path))
    here.wait_read(here.topics.outputs, 100)
    worker.kill()
    worker.wait()
    here.set_offset(group, topic, 50)
    here.worker("w0", "process", TEST_NOTES=str(tmp_path))
    here.wait_read(here.topics.outputs, 151)
    here.wait_all_done_for("process")
    assert numbers(here) == Counter([*range(1, 50), *range(50, 101), *range(50, 101)])


@pytest.mark.timeout(240)
def test_a_partition_that_was_paused_when_it_went_comes_back_taken(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    """A worker with its hands full pauses its partitions. librdkafka keeps that over a rebalance."""
    many = 1_500  # more than a worker takes ahead
    here = install("agents:Gates", partitions=3)
    here.router()
    group = here.topics.worker_group("process")
    one = here.worker("w0", "process", TEST_NOTES=str(tmp_path), PARKWAY_CONCURRENCY="2")
    for number in range(many):
        here.emit(event("order", number=number, wait=1.0), partition=number % 3)
    here.flush()
    notes = tmp_path / "process.notes"
    wait_for("it has its hands full", lambda: notes.exists() and len(notes.read_text().split()) >= 2)
    here.wait_no_lag(here.topics.router_group, here.topics.requests)
    two = here.worker("w1", "process", TEST_NOTES=str(tmp_path), PARKWAY_CONCURRENCY="2")
    here.wait_members(group, 2)
    wait_for("the other one took some", lambda: len(set(notes.read_text().split())) >= 4)
    two.terminate()
    here.wait_members(group, 1)
    (tmp_path / "open").touch()
    wait_for("all are done", lambda: len(numbers(here)) == many, 60.0)
    assert set(numbers(here).values()) == {1}
    assert one.poll() is None


def test_a_map_at_its_limit_holds_new_work_back_and_loses_nothing(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    """One call keeps the watermark; what completes above it fills the map. Then the worker dies."""
    here = install("agents:Gates", partitions=1)
    topic = here.topics.action("process")
    total = 30_000
    for number in range(total):
        here.emit(event("order", number=number, wait=float(number == 0)), topic=topic, partition=0)
    here.flush()
    worker = here.worker("w0", "process", TEST_NOTES=str(tmp_path), PARKWAY_CONCURRENCY="1000")

    def ended() -> int:
        return here.high_watermarks(here.topics.outputs)[0]

    wait_for("the map fills", lambda: ended() > 15_000, 60)
    before = -1
    while ended() != before:
        before = ended()
        time.sleep(2)  # nothing more may be started: there is no other sign of it
    full = len(here.read(here.topics.outputs))
    assert full < total - 1, "the map took everything: the test proves nothing"
    worker.kill()
    worker.wait()
    again = here.worker("w0", "process", TEST_NOTES=str(tmp_path), PARKWAY_CONCURRENCY="1000")
    wait_for("the slow one runs again", lambda: (tmp_path / "process.notes").read_text().count("0\n") == 2)
    (tmp_path / "open").touch()
    here.wait_all_done_for("process")
    assert again.poll() is None
    assert numbers(here) == Counter(range(total))


def test_a_second_sigterm_stops_at_once(install: Callable[..., Installation], tmp_path: Path) -> None:
    here = install("agents:Gates", partitions=1)
    worker = here.worker("w0", "process", TEST_NOTES=str(tmp_path), PARKWAY_DRAIN="600")
    here.emit(event("order", number=0, wait=1.0), topic=here.topics.action("process"))
    here.flush()
    wait_for("it runs", (tmp_path / "process.notes").exists)
    worker.terminate()
    wait_for("it drains", lambda: lines(here, "w0", "draining"))
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(5) == 1


@pytest.mark.timeout(180)
def test_a_drain_ends_when_the_broker_is_away(tmp_path: Path) -> None:
    with (
        PipKafka(data_dir=tmp_path / "kafka") as kafka,
        installation(kafka.bootstrap_servers, "drains", "agents:Orders", tmp_path, 1) as here,
    ):
        worker = here.worker("w0", "process", PARKWAY_DRAIN="1", TEST_NOTES=str(tmp_path))
        here.emit(event("order", number=0, wait=1.0), topic=here.topics.action("process"))
        here.flush()
        wait_for("it runs", (tmp_path / "process.notes").exists)
        kafka.pause(1)
        began = time.monotonic()
        worker.terminate()
        assert worker.wait(60) in (0, 1)
        assert time.monotonic() - began < 40
        kafka.resume(1)
        here.worker("w0", "process")
        here.wait_read(here.topics.outputs, 1)
        here.wait_all_done_for("process")
        assert numbers(here) == Counter([0])
