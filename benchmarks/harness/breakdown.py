"""Where a batch of our router spends its time: an instrumented run in this process.

Measured at the borders that the router has anyway: its consumer, its producer, `Routing.route`. Clocks cost some, and
the two threads share one interpreter lock, so the times of one hold waits for the other.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from confluent_kafka import TopicPartition
from harness.report import table
from harness.topics import fill
from harness.workloads import Workload

from parkway.router import service
from parkway.router.routing import Routing
from parkway.runtime import clients, transactions
from parkway.runtime.clients import admin_client
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics
from parkway.schemas.headers import HOPS, TYPE

STEPS = {
    "poll": ("take: the first record, and the wait for it", "consumer"),
    "consume": ("take: the rest", "consumer"),
    "incoming": ("copy out of librdkafka", "consumer"),
    "route": ("decode and match", "consumer"),
    "produce": ("produce", "producer"),
    "flush": ("flush: until the broker has all", "producer"),
    "send_offsets_to_transaction": ("offsets into the transaction", "producer"),
    "commit_transaction": ("commit", "producer"),
}


class Clock:
    """Wall-clock seconds and calls by step, of all threads."""

    def __init__(self) -> None:
        self.wall: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    def timed(self, step: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                self.wall[step] += time.perf_counter() - began
                self.calls[step] += 1

        return timed


class Timed:
    """A client of librdkafka whose calls of these steps are timed."""

    def __init__(self, client: Any, clock: Clock) -> None:
        self._client = client
        for step in STEPS:
            if hasattr(client, step):
                setattr(self, step, clock.timed(step, getattr(client, step)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def show(bootstrap: str, workload: Workload, events: int) -> None:
    settings = Settings(bootstrap_servers=bootstrap, namespace="breakdown")
    plan = workload.plan(100)
    apply_topics(admin_client(settings, "bench"), bootstrap, settings.topics, plan, 1)
    fill(
        bootstrap,
        settings.topics.events,
        workload.records(events),
        [(TYPE, workload.event_type.encode()), (HOPS, b"1")],
    )
    clock = Clock()
    seconds = _run(settings, Routing(plan, settings.topics), clock, events)
    batches = clock.calls["commit_transaction"]
    print(f"\nour router's batch ({workload.name}, 100 triggers, {events:,} events in {batches} transactions):\n")
    rows = [
        [name, thread, f"{clock.wall[step] / events * 1e6:.1f}", f"{clock.wall[step] / batches * 1e3:.1f}"]
        for step, (name, thread) in STEPS.items()
    ]
    rows.append(["from the first commit to the last", "both", f"{seconds / events * 1e6:.1f}", ""])
    table(["step", "thread", "us/event", "ms/transaction"], rows)


def _run(settings: Settings, routing: Routing, clock: Clock, events: int) -> float:
    """Seconds from the first transaction to the last."""
    routing.route = clock.timed("route", routing.route)  # type: ignore[method-assign]
    originals = service.group_consumer, service.incoming, transactions.transactional_producer
    service.group_consumer = lambda *arguments, **named: Timed(clients.group_consumer(*arguments, **named), clock)
    service.incoming = clock.timed("incoming", service.incoming)
    transactions.transactional_producer = lambda *arguments, **named: Timed(
        clients.transactional_producer(*arguments, **named), clock
    )
    try:
        router = service.Router(settings, routing, "breakdown")
        thread = threading.Thread(target=router.run)
        thread.start()
        return _watch(settings, events)
    finally:
        router.stop()
        thread.join()
        service.group_consumer, service.incoming, transactions.transactional_producer = originals


def _watch(settings: Settings, events: int) -> float:
    offsets = GroupOffsets(settings, "bench", settings.topics.router_group)
    began = 0.0
    try:
        while True:
            answer = offsets.committed([TopicPartition(settings.topics.events, 0)], 1.0)
            now, done = time.perf_counter(), answer[0].offset if answer else 0
            began = began or (now if done > 0 else 0.0)
            if done >= events:
                return now - began
            time.sleep(0.02)
    finally:
        offsets.close()
