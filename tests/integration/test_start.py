"""Processes that are started before Kafka is ready wait for it."""

import threading
from collections.abc import Callable
from pathlib import Path

from installation import Installation, event, installation, wait_for

from parkway.runtime.clients import admin_client
from parkway.runtime.not_ready import until_ready
from parkway.runtime.topology import topic_ids
from parkway.testing.kafka import PipKafka


def test_a_start_waits_for_brokers_and_for_the_controller(tmp_path: Path) -> None:
    """The broker stands still for longer than any single question is given: it used to end what was started."""
    with (
        PipKafka() as kafka,
        installation(kafka.bootstrap_servers, "start", "agents:Orders", tmp_path, partitions=1) as here,
    ):
        admin = admin_client(here.settings, "start")  # it has heard of no controller yet
        asked: list[None] = []
        ids: dict[str, str] = {}

        def ask() -> dict[str, str]:
            asked.append(None)
            return topic_ids(admin, [here.topics.requests])

        def start() -> None:
            ids.update(until_ready("the ids", ask, kafka.bootstrap_servers, 90))

        kafka.pause()
        started = threading.Thread(target=start)
        started.start()
        processes = {"r0": here.router(), "w0": here.worker()}
        for name in processes:
            wait_for(
                f"{name} says that it waits",
                lambda name=name: any(line["event"] == "no_kafka_broker_answers_yet" for line in here.log_lines(name)),
            )
        wait_for("the first question has failed", lambda: len(asked) > 1)
        kafka.resume()
        started.join(60)
        assert set(ids) == {here.topics.requests}
        here.emit(event("order", number=1))
        here.flush()
        here.wait_read(here.topics.outputs, 1)
        assert all(process.poll() is None for process in processes.values())


def test_a_worker_that_waits_at_its_start_stops_when_it_is_told_to(
    install: Callable[..., Installation], tmp_path: Path
) -> None:
    """A live process of another host has its name, so it waits for 50 s: whoever stops it would have killed it."""
    here = install("agents:Orders", partitions=1)
    here.worker("same", "process", PARKWAY_SESSION_TIMEOUT="45")
    here.wait_members(here.topics.worker_group("process"), 1)
    (tmp_path / "another-host").mkdir()
    late = here.worker("same", "process", "step", TMPDIR=str(tmp_path / "another-host"), PARKWAY_SESSION_TIMEOUT="45")
    wait_for("it waits", lambda: any(line["event"] == "waiting_for_predecessor" for line in here.log_lines("same")))
    late.terminate()
    assert late.wait(20) == 0
    assert any(line["event"] == "stopped_before_start" for line in here.log_lines("same"))
