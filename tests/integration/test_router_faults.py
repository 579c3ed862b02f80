"""Routers die, hang and fight in every phase of a transaction: each event is still routed once, in order per key."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from installation import Installation, installation, wait_for
from routed import Routed

from parkway.runtime.transactions import TransactionalProducer
from parkway.testing.kafka import PipKafka

QUICK = {"PARKWAY_SESSION_TIMEOUT": "2", "PARKWAY_TRANSACTION_TIMEOUT": "2"}


@pytest.fixture
def here(quick_kafka: PipKafka, parkway_namespace: str, tmp_path: Path) -> Iterator[Installation]:
    with installation(quick_kafka.bootstrap_servers, parkway_namespace, "agents:Routes", tmp_path) as one:
        yield one


@pytest.fixture
def routed(here: Installation) -> Routed:
    return Routed(here)


def struck(here: Installation, name: str = "r0") -> int:
    return (here.folder / f"{name}.log").read_text().count("fault struck")


def emit_until(routed: Routed, condition: Callable[[], bool]) -> None:
    """Emit little by little, so that one transaction follows another, until `condition`."""

    def emitted() -> bool:
        routed.emit(20)
        return condition()

    try:
        wait_for("the condition", emitted, 60)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{routed.here.logs()}") from None


def test_a_router_that_is_killed_in_any_phase_of_a_transaction(here: Installation, routed: Routed) -> None:
    phases = ["after_begin", "before_flush", "after_flush", "after_send_offsets", "before_commit", "after_commit"]
    for number, phase in enumerate(phases):
        routed.emit(200)
        router = here.faulty_router(f"{phase}:kill@{1 + number % 2}", **QUICK)
        emit_until(routed, lambda router=router: router.poll() is not None)
        assert router.returncode == -signal.SIGKILL
    here.router(**QUICK)
    routed.check()


def test_a_router_goes_on_after_whatever_its_producer_meets(here: Installation, routed: Routed) -> None:
    """Each of these ends a transaction, or leaves its outcome open; none ends the process."""
    faults = [
        "before_begin:fatal@2",
        "before_flush:fatal@4",
        "after_flush:abortable@6",
        "after_flush:fatal@8",
        "after_send_offsets:fatal@10",
        "before_commit:retriable@12",
        "before_commit:abortable@14",
        "before_commit:fatal@16",
        "after_commit:fatal@18",  # it was committed, and nobody said so
        "after_commit:retriable@20",
        "before_commit:too-long@22",  # the broker ends the transaction, and fences its producer
    ]
    router = here.faulty_router(" ".join(faults), FAULT_SECONDS="5", **QUICK)
    emit_until(routed, lambda: struck(here) == len(faults))
    routed.emit(100)
    routed.check()
    assert router.poll() is None
    outcomes = [line["committed"] for line in here.log_lines("r0") if line["event"] == "outcome_resolved"]
    assert True in outcomes
    assert False in outcomes


def test_a_router_that_another_process_of_its_instance_fences_twice_names_it(
    here: Installation, routed: Routed
) -> None:
    def fence() -> None:
        TransactionalProducer(here.settings, f"{here.settings.namespace}.router.pod-7.0").open()

    router = here.router("pod-7", **{**QUICK, "PARKWAY_TRANSACTION_TIMEOUT": "60"})
    emit_until(routed, lambda: routed.routed() > 0)
    fence()
    emit_until(routed, lambda: "outcome_resolved" in (here.folder / "pod-7.log").read_text())
    fence()
    emit_until(routed, lambda: router.poll() is not None)
    assert router.returncode == 2
    assert "instance 'pod-7'" in (here.folder / "pod-7.log").read_text()
    here.router("r1", **QUICK)
    routed.check()


def test_routers_that_come_and_go_under_load(here: Installation, routed: Routed) -> None:
    here.router("r0", **QUICK)
    for number in range(3):
        other = here.router("r1", **QUICK)
        here.wait_members(here.topics.router_group, 2)
        goal = routed.routed() + 100
        emit_until(routed, lambda goal=goal: routed.routed() > goal)
        if number % 2:
            other.kill()
        else:
            other.terminate()
        emit_until(routed, lambda other=other: other.poll() is not None)
    routed.check()


def test_a_zombie_that_wakes_up_in_the_middle_of_a_transaction(here: Installation, routed: Routed) -> None:
    routed.emit(200)
    zombie = here.faulty_router("after_send_offsets:stop@1", **QUICK)
    wait_for("it stands still", lambda: struck(here))
    here.router("r1", **QUICK)
    emit_until(routed, lambda: routed.routed() >= 200)
    os.kill(zombie.pid, signal.SIGCONT)
    routed.emit(200)
    routed.check()
    assert zombie.poll() is None


@pytest.mark.timeout(180)
def test_a_broker_that_is_away_longer_than_transactions_may_last(tmp_path: Path) -> None:
    """The routers are not restarted: what they had in hand is resolved in the process."""
    with (
        PipKafka(data_dir=tmp_path / "kafka") as kafka,
        installation(kafka.bootstrap_servers, "away", "agents:Routes", tmp_path) as here,
    ):
        routed = Routed(here)
        routers = [here.router(name) for name in ("r0", "r1")]
        here.wait_members(here.topics.router_group, 2)
        routed.emit(20_000)
        kafka.kill(1)
        time.sleep(20)  # twice the transaction timeout: that is the case under test
        kafka.restart(1)
        routed.check()
        assert [one.poll() for one in routers] == [None, None]


def test_a_router_that_is_stopped_while_kafka_does_not_answer_ends(here: Installation, routed: Routed) -> None:
    """Not only at the second signal: what it had in hand is routed by the next one."""
    router = here.faulty_router("before_commit:hang@3", PARKWAY_DRAIN="0")
    emit_until(routed, lambda: struck(here) == 1)
    router.send_signal(signal.SIGTERM)
    assert router.wait(60) == 1
    assert any(line["event"] == "not_drained_in_time" for line in here.log_lines("r0"))
    here.router("r1", **QUICK)
    routed.check()
