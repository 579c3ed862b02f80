"""One hop at a low rate: from a producer, through the router, to a reader of the action's topic (read_committed)."""

import sys
import threading
import time
from pathlib import Path
from statistics import quantiles

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition
from harness.processes import Measured, parkway_environment
from harness.report import Bars
from harness.topics import fill
from harness.workloads import ACTIONS, Workload

from parkway.runtime.clients import admin_client, manual_consumer
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics
from parkway.schemas.headers import HOPS, TYPE, Headers

RATE = 50.0
_WARM_UP = 50
_WARM_UP_BACKLOG = 20_000  # a broker's Java is slow at first
_LONGEST = 60.0


def latencies(bootstrap: str, folder: Path, number: int, workload: Workload, seconds: float) -> list[float]:
    """Milliseconds from `produce` to the first of an event's outputs in a reader's hands."""
    settings = Settings(bootstrap_servers=bootstrap, namespace=f"hop{number}")
    plan = workload.plan(100)
    apply_topics(admin_client(settings, "bench"), bootstrap, settings.topics, plan, 1)
    file = folder / "hop.json"
    file.write_bytes(plan.to_json())
    fill(bootstrap, settings.topics.events, workload.records(_WARM_UP_BACKLOG), _headers(workload))
    events = int(seconds * RATE) + _WARM_UP
    sent: dict[str, float] = {}
    took: dict[str, float] = {}
    command = [sys.executable, "-m", "parkway.cli", "router", "--plan", file, "--instance", "hop"]
    with Measured(command, parkway_environment(settings)):
        reader = threading.Thread(target=_read, args=(settings, sent, took, events))
        reader.start()
        _send_first(settings, workload, sent, took)
        _send(settings, workload, sent, events)
        reader.join(_LONGEST)
    assert len(took) == events, f"{events - len(took)} of {events} events did not arrive"
    return sorted(list(took.values())[_WARM_UP:])


def show(rounds: list[list[float]], bars: Bars) -> None:
    cuts = [quantiles(took, n=100) for took in rounds]
    print(f"\none hop, {RATE:.0f} events a second, {len(rounds)} rounds")
    for p50, p95, p99 in ((cut[49], cut[94], cut[98]) for cut in cuts):
        print(f"p50 {p50:.1f} ms, p95 {p95:.1f}, p99 {p99:.1f}")
    bars.at_most("hop p50", [cut[49] for cut in cuts], 10, " ms")
    bars.at_most("hop p99", [cut[98] for cut in cuts], 50, " ms")


def _headers(workload: Workload) -> Headers:
    return [(TYPE, workload.event_type.encode()), (HOPS, b"1")]


def _produce(producer: Producer, settings: Settings, workload: Workload, sent: dict[str, float], number: int) -> str:
    event = orjson.loads(workload.bodies[number % len(workload.bodies)])
    event["id"] = f"{number}"
    value = orjson.dumps(event)
    sent[event["id"]] = time.perf_counter()
    producer.produce(settings.topics.events, value, event["id"], 0, headers=_headers(workload))
    producer.poll(0)
    return str(event["id"])


def _send_first(settings: Settings, workload: Workload, sent: dict[str, float], took: dict[str, float]) -> None:
    """The router is up once the first event has come through."""
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "linger.ms": 0})
    first = _produce(producer, settings, workload, sent, 0)
    producer.flush()
    give_up = time.monotonic() + _LONGEST
    while first not in took:
        assert time.monotonic() < give_up, "the router does not route"
        time.sleep(0.01)


def _send(settings: Settings, workload: Workload, sent: dict[str, float], events: int) -> None:
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "linger.ms": 0})
    began = time.perf_counter()
    for number in range(1, events):
        time.sleep(max(0.0, began + number / RATE - time.perf_counter()))
        _produce(producer, settings, workload, sent, number)
    producer.flush()


def _read(settings: Settings, sent: dict[str, float], took: dict[str, float], events: int) -> None:
    consumer: Consumer = manual_consumer(settings, "bench")
    consumer.assign([TopicPartition(settings.topics.action(action), 0, 0) for action in ACTIONS])
    give_up = time.monotonic() + 2 * _LONGEST
    while len(took) < events and time.monotonic() < give_up:
        message = consumer.poll(0.5)
        if message is None or message.error() is not None:
            continue
        now = time.perf_counter()
        event_id = str(orjson.loads(message.value() or b"")["id"])
        if event_id in sent:
            took.setdefault(event_id, (now - sent[event_id]) * 1000)
    consumer.close()
