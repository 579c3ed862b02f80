"""A record that kills the process is found and convicted, and none of its neighbours is (DESIGN 7.1)."""

import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from installation import Installation, Read, event, installation, wait_for
from poison_agents import POISON

NEIGHBOURS = 200
# Four records at once: all, all (after one death), two, one of three that are suspected, alone.
DEATHS = 4


def outputs(here: Installation) -> list[dict[str, Any]]:
    return [one.json["attributes"]["output"] for one in here.read(here.topics.outputs)]


@dataclass
class Supervisor:
    """Runs one worker with all actions, and starts another one whenever it dies."""

    here: Installation
    environment: dict[str, str]
    deaths: list[int] = field(default_factory=list)
    running: subprocess.Popen[bytes] | None = None

    def look(self) -> None:
        if self.running is not None:
            code = self.running.poll()
            if code is None:
                return
            self.deaths.append(code)
        self.running = self.here.worker("w0", **self.environment)


def supervised(here: Installation, **environment: str) -> Supervisor:
    here.router()
    supervisor = Supervisor(here, {"PARKWAY_CONCURRENCY": "4", "PARKWAY_LOG_FORMAT": "json", **environment})
    supervisor.look()
    return supervisor


def order_among_neighbours(here: Installation) -> Supervisor:
    for number in range(NEIGHBOURS):
        if number == 77:
            here.emit(event("order", "guilty", number=-1, poison=True), key="guilty")
        here.emit(event("order", number=number), key=f"k{number}")
        if number % 4 == 0:
            here.emit(event("other", number=1000 + number), key=f"k{number % 20}")
    here.flush()
    return supervised(here)


def tool_call_in_a_chat(here: Installation) -> Supervisor:
    for number in range(20):
        here.emit(event("question", number=number), key=f"k{number}")
    here.flush()
    return supervised(here)


def continuation_of_a_chat(here: Installation) -> Supervisor:
    for number in range(20):
        here.emit(event("question", number=-number), key=f"k{number}")
    here.flush()
    return supervised(here)


SCENARIOS: dict[str, tuple[str, int, Callable[[Installation], Supervisor]]] = {
    "order": ("poison_agents:Crashing", NEIGHBOURS + NEIGHBOURS // 4, order_among_neighbours),
    "tool": ("poison_agents:DeadlyTool", 20, tool_call_in_a_chat),
    "continuation": ("poison_agents:DeadlyAnswer", 20, continuation_of_a_chat),
}


@pytest.fixture(scope="module")
def poisoned(parkway_kafka: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Supervisor]]:
    """All scenarios at once: most of their time is session timeouts."""
    with ExitStack() as stack:
        found: dict[str, Supervisor] = {}
        for name, (agent, _, begin) in SCENARIOS.items():
            folder = tmp_path_factory.mktemp(name)
            bootstrap = parkway_kafka.bootstrap_servers
            found[name] = begin(stack.enter_context(installation(bootstrap, f"poison-{name}", agent, folder)))

        def all_done() -> bool:
            for supervisor in found.values():
                supervisor.look()
            return all(len(outputs(found[name].here)) >= expected for name, (_, expected, _) in SCENARIOS.items())

        try:
            wait_for("all outputs", all_done, 300)
        except AssertionError as error:
            seen = {name: (len(outputs(one.here)), one.deaths) for name, one in found.items()}
            logs = "\n".join(one.here.logs() for one in found.values())
            raise AssertionError(f"{error}: {seen}\n{logs}") from None
        for supervisor in found.values():
            supervisor.here.wait_all_done()
        yield found


def events_of(here: Installation, name: str) -> set[str]:
    return {line["event"] for line in here.log_lines(name)}


def logged(here: Installation, name: str) -> list[dict[str, Any]]:
    return [line for line in here.log_lines("w0") if line["event"] == name]


@pytest.mark.timeout(420)
def test_the_guilty_record_goes_to_the_dlq_and_its_neighbours_come_out_once(poisoned: dict[str, Supervisor]) -> None:
    one = poisoned["order"]
    numbers = Counter(output["number"] for output in outputs(one.here))
    assert numbers == Counter([*range(NEIGHBOURS), *range(1000, 1000 + NEIGHBOURS, 4)])
    (dead,) = one.here.read(one.here.topics.dlq)
    assert dead.json["id"] == "guilty"
    assert dead.headers["parkway-error-type"] == b"poison"
    assert dead.headers["parkway-attempt"] == str(DEATHS).encode()
    assert b"alone" not in dead.headers["parkway-error-message"]
    assert b"this record and nothing else" in dead.headers["parkway-error-message"]
    assert dead.headers["parkway-origin"].startswith(one.here.topics.action("process").encode())
    assert one.deaths == [-signal.SIGSEGV] * DEATHS
    assert len(logged(one.here, "record_convicted")) == 1
    assert logged(one.here, "concurrency_limited")[-1]["records"] == "no limit"


@pytest.mark.timeout(420)
def test_a_poison_tool_call_is_a_failed_call_and_its_chat_is_answered_once(poisoned: dict[str, Supervisor]) -> None:
    one = poisoned["tool"]
    answers = {output["number"]: output for output in outputs(one.here)}
    assert Counter(output["number"] for output in outputs(one.here)) == Counter(range(20))
    assert all(answer["success"] for answer in answers.values())
    assert "Tool `lookup` execute failed." in answers[POISON]["text"]
    assert all(f"{number * 10}" in answers[number]["text"] for number in range(20) if number != POISON)
    assert one.deaths == [70] * DEATHS
    assert one.here.read(one.here.topics.dlq) == []
    assert one.here.parked() == {}
    (response,) = [
        read
        for read in one.here.read(one.here.topics.events)
        if read.headers["parkway-type"] == b"_tool_response_event"
        and not all(read.json["attributes"]["success"].values())
    ]
    assert "died 4 times in a row" in str(response.json["attributes"]["error"])


@pytest.mark.timeout(420)
def test_a_poison_continuation_ends_its_chat_with_a_failed_response(poisoned: dict[str, Supervisor]) -> None:
    one = poisoned["continuation"]
    answers = {-output["number"]: output for output in outputs(one.here)}
    assert Counter(-output["number"] for output in outputs(one.here)) == Counter(range(20))
    assert [number for number, answer in answers.items() if not answer["success"]] == [POISON]
    assert answers[POISON]["text"].startswith("internal: the process died 4 times in a row")
    assert one.deaths == [-signal.SIGABRT] * DEATHS
    assert one.here.read(one.here.topics.dlq) == []
    assert one.here.parked() == {}


def test_scale_outs_under_load_convict_nobody_and_slow_nothing_down(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    here = install("agents:Orders", partitions=6)
    here.router()
    environment = {"PARKWAY_LOG_FORMAT": "json", "PARKWAY_CONCURRENCY": "8"}
    here.worker("w0", "process", **environment)
    emitted = 0

    def load(records: int) -> None:
        nonlocal emitted
        for number in range(emitted, emitted + records):
            here.emit(event("order", number=number, wait=0.2), key=f"k{number}")
        here.flush()
        emitted += records

    def read_numbers() -> list[Read]:
        return here.read(here.topics.outputs)

    for members in (2, 3, 4):
        load(100)
        before = len(read_numbers())
        here.wait_members(here.topics.worker_group("process"), members - 1)
        wait_for("it works", lambda before=before: len(read_numbers()) > before)
        here.worker(f"w{members - 1}", "process", **environment)
        here.wait_members(here.topics.worker_group("process"), members)
    here.wait_read(here.topics.outputs, emitted)
    here.wait_all_done_for("process")
    assert Counter(output["number"] for output in outputs(here)) == Counter(range(emitted))
    assert here.read(here.topics.dlq) == []
    for worker in range(4):
        wait_for("it takes part", lambda worker=worker: "assigned" in events_of(here, f"w{worker}"))
        assert events_of(here, f"w{worker}").isdisjoint({"owner_died", "concurrency_limited", "record_convicted"})


def test_an_orderly_end_that_cancels_a_handler_is_no_death(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    here = install("agents:Orders", partitions=1)
    here.router()
    environment = {"PARKWAY_LOG_FORMAT": "json", "PARKWAY_DRAIN": "0", "TEST_NOTES": str(tmp_path)}
    here.emit(event("order", number=1, wait=3600))
    here.flush()
    notes = tmp_path / "process.notes"
    for life in (1, 2, 3):
        worker = here.worker("w0", "process", **environment)
        wait_for("it runs", lambda life=life: notes.exists() and notes.read_text() == "1\n" * life)
        worker.terminate()
        assert worker.wait(30) == 0
    events = [line["event"] for line in here.log_lines("w0")]
    assert events.count("assigned") == 3
    assert "owner_died" not in events
