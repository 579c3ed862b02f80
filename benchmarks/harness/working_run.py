"""One worker process works off one topic: rate and CPU. Nothing of the start counts."""

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson
from confluent_kafka import TopicPartition
from harness.contestants import Contestant
from harness.processes import Measured, parkway_environment
from harness.topics import fill

from parkway.runtime.clients import admin_client
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics
from parkway.schemas.headers import HOPS, TYPE
from parkway.schemas.plan import Plan
from parkway.workers.completion import MapError, decode

HERE = Path(__file__).parents[1]
AGENT = "bench_agents:Bench"
_LONGEST = 180.0  # without a record that is completed
_LOOK_SECONDS = 0.02  # for each partition, whose map is decoded


@dataclass(frozen=True)
class Run:
    """`rate` in records a second, `cpu` in microseconds a record, `peak` in megabytes."""

    rate: float
    cpu: float
    peak: float


def settings_of(bootstrap: str, namespace: str, plan: Plan, partitions: int = 1) -> Settings:
    """A namespace with its topics."""
    settings = Settings(bootstrap_servers=bootstrap, namespace=namespace)
    apply_topics(admin_client(settings, "bench"), bootstrap, settings.topics, plan, partitions)
    return settings


def parkway(settings: Settings, *command: str | Path) -> Measured:
    environment = parkway_environment(settings, PYTHONPATH=f"{HERE}:{':'.join(sys.path[1:])}")
    return Measured([sys.executable, "-m", "parkway.cli", *command], environment)


def fill_action(settings: Settings, action: str, attributes: Iterable[dict[str, object]], partitions: int = 1) -> int:
    """Records of an action's topic, as a router writes them; how many."""
    bodies = [
        orjson.dumps({"id": f"{number}", "type": action, "attributes": each}) for number, each in enumerate(attributes)
    ]
    topic, headers = settings.topics.action(action), [(TYPE, action.encode()), (HOPS, b"1")]
    fill(settings.bootstrap_servers, topic, bodies, headers, partitions)
    return len(bodies)


def work(settings: Settings, action: str, records: int, *options: str, partitions: int = 1, but_every: int = 0) -> Run:
    """Our worker, until everything in the action's topic is completed.

    Without the offsets that `but_every` divides: `records` are the others, and they alone count and are waited for.
    """
    topic = settings.topics.action(action)
    with parkway(settings, "worker", AGENT, "--action", action, *options) as process:
        return _watch(settings, settings.topics.worker_group(action), topic, records, process, partitions, but_every)


def work_by(contestant: Contestant, settings: Settings, action: str, records: int) -> Run:
    """The same records, by another framework."""
    topic = settings.topics.action(action)
    group = f"{topic}.{contestant.program}."
    outputs = settings.topics.outputs if action == "echo" else ""
    given = contestant.environment(settings.bootstrap_servers, topic, group, "orders")
    environment = {**given, "BENCH_OUTPUTS": outputs}
    with Measured(contestant.command("work.py"), environment) as process:
        return _watch(settings, environment["BENCH_GROUP"], topic, records, process)


def _watch(
    settings: Settings,
    group: str,
    topic: str,
    records: int,
    process: Measured,
    partitions: int = 1,
    but_every: int = 0,
) -> Run:
    """From a tenth of the records to nine tenths: the last ones may wait for one slow call."""
    offsets = GroupOffsets(settings, "bench", group)
    asked = [TopicPartition(topic, partition) for partition in range(partitions)]
    give_up = time.monotonic() + _LONGEST
    seen: list[tuple[float, int]] = []
    try:
        while not seen or seen[-1][1] < records:
            done = sum(_completed(one, but_every) for one in offsets.committed(asked, 1.0) or ())
            if done > (seen[-1][1] if seen else 0):
                seen.append((time.time(), done))
                give_up = time.monotonic() + _LONGEST
            assert process.running, "the process has ended; its error stands above"
            assert time.monotonic() < give_up, f"nothing was done for {_LONGEST} s: {seen[-1:]}"
            time.sleep(_LOOK_SECONDS * partitions)
    finally:
        offsets.close()
    inside = [(when, done) for when, done in seen if 0.1 * records <= done <= 0.9 * records]
    if len(inside) < 2:
        inside = seen[-2:]
    assert len(inside) > 1, f"{records} records are too few: all were done between two looks at the offsets"
    (began, first), (ended, last) = inside[0], inside[-1]
    cpu = (process.cpu_at(ended) - process.cpu_at(began)) / (last - first) * 1e6
    return Run((last - first) / (ended - began), cpu, process.peak_megabytes)


def _completed(answer: TopicPartition, but_every: int) -> int:
    """Records whose completion is committed: those below the offset, and those that our map holds above it."""
    if answer.offset < 0:
        return 0
    try:
        found = decode(answer.metadata or "")
    except MapError:  # others commit an offset only
        return answer.offset
    end = found.base + found.span
    if not but_every:
        return end - len(found.unfinished)
    left_out = len(range(0, end, but_every))
    return end - left_out - sum(offset % but_every != 0 for offset in found.unfinished)
