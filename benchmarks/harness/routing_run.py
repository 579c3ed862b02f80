"""One contestant routes one workload: rate, CPU, memory.

Nothing of the start counts: the clock runs from the arrival of the first tenth of the outputs to that of the last one,
by the broker's timestamps. A run is good only if every output is there, once.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from harness.contestants import Contestant
from harness.processes import Measured, parkway_environment
from harness.topics import arrivals, delete, fill
from harness.workloads import ACTIONS, Workload

from parkway.runtime.clients import admin_client
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics
from parkway.schemas.headers import HOPS, TYPE

_SKIPPED = 0.1
_LONGEST = 180.0


@dataclass(frozen=True)
class Run:
    """`rate` in events a second, `cpu` in microseconds an event, `memory` in MB (peak, the client's buffers too)."""

    rate: float
    cpu: float
    memory: float


def route(bootstrap: str, folder: Path, number: int, contestant: Contestant, workload: Workload, events: int) -> Run:
    """Fill the topic, run the contestant until it has committed everything, count what it wrote."""
    events = max(1_000, int(events * contestant.share))
    settings = Settings(bootstrap_servers=bootstrap, namespace=f"bench{number}")
    admin = admin_client(settings, "bench")
    plan = workload.plan(contestant.triggers if contestant.ours else 10)
    apply_topics(admin, bootstrap, settings.topics, plan, 1)
    topics = [settings.topics.action(action) for action in ACTIONS]
    headers: list[tuple[str, str | bytes | None]] = [(TYPE, workload.event_type.encode()), (HOPS, b"1")]
    fill(bootstrap, settings.topics.events, workload.records(events), headers)
    try:
        with _start(settings, folder, contestant, workload, plan.to_json()) as process:
            group = settings.topics.router_group if contestant.ours else f"{settings.topics.action('')}bench"
            _wait_until_committed(settings, group, events, process)
            found = arrivals(bootstrap, topics)
            began, ended, count = found.window(_SKIPPED)
            used = process.cpu_at(ended) - process.cpu_at(began)
            memory = process.peak_megabytes
    finally:
        _delete_all(admin, settings)
    wanted = workload.matches(events, contestant.triggers)
    assert len(found.times) == wanted, f"{contestant.label}: {len(found.times)} outputs, wanted {wanted}"
    routed = count * events / wanted
    return Run(routed / (ended - began), used / routed * 1e6, memory)


def _start(settings: Settings, folder: Path, contestant: Contestant, workload: Workload, plan: bytes) -> Measured:
    topics = settings.topics
    if not contestant.ours:
        environment = contestant.environment(
            settings.bootstrap_servers, topics.events, topics.action(""), workload.name
        )
        return Measured(contestant.command("route.py"), environment)
    file = folder / "plan.json"
    file.write_bytes(plan)
    command = [sys.executable, "-m", "parkway.cli", "router", "--plan", file, "--instance", "bench"]
    return Measured(command, parkway_environment(settings))


def _wait_until_committed(settings: Settings, group: str, events: int, process: Measured) -> None:
    offsets = GroupOffsets(settings, "bench", group)
    give_up = time.monotonic() + _LONGEST
    try:
        while True:
            answer = offsets.committed([TopicPartition(settings.topics.events, 0)], 1.0)
            if answer and answer[0].offset >= events:
                return
            assert process.running, "the process has ended; its error stands above"
            assert time.monotonic() < give_up, f"not done after {_LONGEST} s: {answer}"
            time.sleep(0.1)
    finally:
        offsets.close()


def _delete_all(admin: AdminClient, settings: Settings) -> None:
    names = [name for name in admin.list_topics(timeout=30).topics if name.startswith(f"{settings.namespace}.")]
    delete(admin, names)
