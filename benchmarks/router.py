"""The router against a bare loop, side by side on one real Kafka: events a second, CPU per event.

The bare loop consumes, decodes with the same decoder, matches with a hand-written `if` chain and produces, at least
once, without transactions. The router evaluates 100 triggers exactly-once. Both read the same 650-byte events.

    python benchmarks/router.py [--events 100000] [--check]     # --check: at least 0.9 of the bare loop's rate
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from parkway.runtime.clients import admin_client
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.logs import configure_logs
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics
from parkway.schemas import jsonio
from parkway.schemas.plan import ActionPlan, Plan
from parkway.testing.kafka import PipKafka

ACTIONS = 10
TRIGGERS = 100


def plan() -> Plan:
    """100 triggers over 10 actions; each event matches one."""
    per_action = TRIGGERS // ACTIONS
    actions = tuple(
        ActionPlan(
            name=f"a{number}",
            triggers=tuple(
                f"type == 'order' && kind == 'k{number}-{part}' && amount > {part}" for part in range(per_action)
            ),
        )
        for number in range(ACTIONS)
    )
    return Plan(agent="benchmark", actions=actions, accepts=("order",)).with_build()


def fill(settings: Settings, events: int) -> None:
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "queue.buffering.max.messages": 1_000_000})
    pad = "x" * 500
    for number in range(events):
        kind = f"k{number % ACTIONS}-{number % 7}"
        body = {"id": str(number), "type": "order", "attributes": {"kind": kind, "amount": 50, "pad": pad}}
        headers = [("parkway-type", b"order"), ("parkway-hops", b"1")]
        producer.produce(settings.topics.events, json.dumps(body), str(number), 0, headers=headers)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def bare_loop(bootstrap: str, namespace: str, events: int) -> None:
    """A child process: what is the least that has to be done?"""
    settings = Settings(bootstrap_servers=bootstrap, namespace=namespace)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bare",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "queued.min.messages": 20_000,
        }
    )
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
    consumer.assign([TopicPartition(settings.topics.events, 0, 0)])
    done, began = 0, 0.0
    while done < events:
        messages = consumer.consume(2000, 0.1)
        if messages and not began:
            began = time.perf_counter()
        for message in messages:
            event = jsonio.loads(message.value())
            attributes = event["attributes"]
            if event["type"] == "order":
                action, part = attributes["kind"][1:].split("-")
                if attributes["amount"] > int(part):
                    producer.produce(
                        settings.topics.action(f"a{action}"),
                        message.value(),
                        message.key(),
                        message.partition(),
                        headers=message.headers(),
                    )
        done += len(messages)
        producer.flush()
        if messages:
            consumer.commit(asynchronous=False)
    seconds = time.perf_counter() - began
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime}))


def run_bare(settings: Settings, events: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--bare", settings.bootstrap_servers, settings.namespace, str(events)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def run_router(settings: Settings, plan_file: Path, events: int) -> dict[str, float]:
    environment = {
        **os.environ,
        "PARKWAY_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
        "PARKWAY_NAMESPACE": settings.namespace,
        "PARKWAY_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "parkway.cli", "router", "--plan", str(plan_file), "--instance", "bench"]
    offsets = GroupOffsets(settings, "bench", settings.topics.router_group)
    wanted = [TopicPartition(settings.topics.events, 0)]
    process = subprocess.Popen(command, env=environment)
    began, first = 0.0, 0
    try:
        while True:
            answer = offsets.committed(wanted, 1.0)
            now, done = time.perf_counter(), max(0, answer[0].offset) if answer else 0
            if done and not began:
                began, first = now, done
            if done >= events:
                break
            time.sleep(0.01)
        ticks = sum(int(field) for field in Path(f"/proc/{process.pid}/stat").read_text().split()[13:15])
        scale = events / max(1, events - first)
        return {"seconds": (now - began) * scale, "cpu": ticks / os.sysconf("SC_CLK_TCK")}
    finally:
        offsets.close()
        process.terminate()
        process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bare", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bare:
        bare_loop(arguments.bare[0], arguments.bare[1], int(arguments.bare[2]))
        return 0
    configure_logs(level="error")
    ratios = []
    with PipKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        plan_file = Path(folder) / "plan.json"
        plan_file.write_bytes(plan().to_json())
        for number in range(arguments.rounds):
            settings = Settings(bootstrap_servers=kafka.bootstrap_servers, namespace=f"bench-{number}")
            admin = admin_client(settings, "bench")
            apply_topics(admin, settings.bootstrap_servers, settings.topics, plan(), 1)
            fill(settings, arguments.events)
            bare = run_bare(settings, arguments.events)
            router = run_router(settings, plan_file, arguments.events)
            ratios.append(bare["seconds"] / router["seconds"])
            for name, one in (("bare loop, at least once", bare), (f"router, {TRIGGERS} triggers, once", router)):
                rate, cpu = arguments.events / one["seconds"], one["cpu"] / arguments.events * 1e6
                print(f"{name:34} {rate:8.0f} events/s   {cpu:5.1f} us CPU an event (start-up included)")
    ratio = sorted(ratios)[len(ratios) // 2]
    print(f"router / bare loop: {ratio:.2f} (median of {len(ratios)}; the bar is 0.9)")
    return 1 if arguments.check and ratio < 0.9 else 0


if __name__ == "__main__":
    raise SystemExit(main())
