"""A worker's restore of parked records against the least that has to be done: a consume loop into a dict.

    python benchmarks/restore.py [--records 200000] [--rounds 5]
    python benchmarks/restore.py --check    # exit 1 below 0.8 of the loop's rate
    python benchmarks/restore.py --quick    # 20,000 records, one round

Both read the same topic of 1 KB records, each in a process of its own, one after the other. The restore is the worker's
(`workers/restore.py`): committed offsets, watermarks, every record checked and indexed.
A store on disk would be one more entry of `CHILDREN`.
"""

import argparse
import ctypes
import gc
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from harness.report import Bars, table

from parkway.runtime.clients import admin_client
from parkway.runtime.garbage import calm_collector
from parkway.runtime.logs import configure_logs
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics, topic_ids
from parkway.schemas.parked import Origin, ParkedRecord, parked_key
from parkway.schemas.plan import ActionPlan, Plan
from parkway.testing.kafka import PipKafka
from parkway.workers.assignment import Partition
from parkway.workers.restore import Restorer

ACTION = "chat"
BYTES = 1_000


def parked_records(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of chats that wait for their tools; a kilobyte each, no two alike."""
    for number in range(count):
        request_id = f"{number:08x}-7c1d-4b3e-9a55-1c0ffee15bad"
        record = ParkedRecord(
            build="0123456789abcdef",
            action=ACTION,
            record_key="Y3VzdG9tZXItNDI=",
            origin=Origin(topic="bench.action.chat", partition=0, offset=number, external=True),
            request={
                "id": request_id,
                "type": "_chat_request_event",
                "attributes": {"model": "assistant", "messages": [{"role": "user", "content": "Where is my order?"}]},
            },
            request_hash=f"{number:032x}",
            round=1,
            waits_for=f"{number:08x}-91aa-4d9b-8f00-5ca1ab1e0000",
            pending_calls=("call-1",),
            deadline=4_102_444_800_000,
            state={"conversation": ""},
        )
        room = BYTES - len(record.to_json())
        record.state["conversation"] = f"{number} " + "x" * (room - len(str(number)) - 1)
        yield parked_key(request_id, ACTION), record.to_json()


def fill(settings: Settings, count: int) -> None:
    producer = Producer(
        {"bootstrap.servers": settings.bootstrap_servers, "queue.buffering.max.messages": 2_000_000, "linger.ms": 20}
    )
    for number, (key, value) in enumerate(parked_records(count)):
        producer.produce(settings.topics.parked, value, key, 0)
        if number % 1_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def bare_loop(settings: Settings) -> tuple[float, Any]:
    """Seconds, and the dict."""
    consumer = Consumer(
        {
            "bootstrap.servers": settings.bootstrap_servers,
            "group.id": "bare",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 10,  # or the end of the partition is heard of half a second late
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    began = time.perf_counter()
    consumer.assign([TopicPartition(settings.topics.parked, 0, 0)])
    found: dict[bytes | None, bytes | None] = {}
    while True:
        for message in consumer.consume(5_000, 0.1):
            error = message.error()
            if error is None:
                found[message.key()] = message.value()
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                seconds = time.perf_counter() - began
                consumer.close()
                return seconds, found


def restore(settings: Settings) -> tuple[float, Any]:
    """Seconds, and the partition with its index, as a worker has it when it starts."""
    admin = admin_client(settings, "bench")
    topics = [settings.topics.action(ACTION), settings.topics.resume(ACTION)]
    restorer = Restorer(settings, admin, action=ACTION, topic_ids=topic_ids(admin, topics), parks=True)
    began = time.perf_counter()
    restored = restorer.restore([0], {}, threading.Event())
    partition = Partition(0, restored[0], ACTION, settings.topics)
    return time.perf_counter() - began, partition.parked


CHILDREN: dict[str, Callable[[Settings], tuple[float, Any]]] = {"bare": bare_loop, "restore": restore}


def child(name: str, bootstrap: str, records: int) -> None:
    settings = Settings(bootstrap_servers=bootstrap, namespace="bench")
    calm_collector()  # as a worker process does
    before = _megabytes()
    cpu = time.process_time()
    seconds, kept = CHILDREN[name](settings)
    used = time.process_time() - cpu
    gc.collect()
    assert len(kept) == records, f"{name}: {len(kept)} of {records}"
    print(json.dumps({"seconds": seconds, "megabytes": _megabytes() - before, "cpu": used}))


def _megabytes() -> float:
    """Resident now, without what the allocator keeps of the client's buffers."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1_000_000


def measure(bootstrap: str, name: str, records: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", name, bootstrap, str(records)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="exit 1 when the bar is missed")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    configure_logs(level="error")
    if arguments.child:
        name, bootstrap, records = arguments.child
        child(name, bootstrap, int(records))
        return 0
    count, rounds = (20_000, 1) if arguments.quick else (arguments.records, arguments.rounds)
    plan = Plan(
        agent="benchmark",
        actions=(ActionPlan(name=ACTION, triggers=("_chat_request_event",), resumed_by=("_tool_response_event",)),),
    ).with_build()
    with PipKafka() as kafka:
        settings = Settings(bootstrap_servers=kafka.bootstrap_servers, namespace="bench")
        apply_topics(admin_client(settings, "bench"), settings.bootstrap_servers, settings.topics, plan, 1)
        fill(settings, count)
        measure(settings.bootstrap_servers, "bare", count)  # a broker's Java is slow at first
        runs = [{name: measure(settings.bootstrap_servers, name, count) for name in CHILDREN} for _ in range(rounds)]
    rows = []
    for name, label in (("bare", "bare loop into a dict"), ("restore", "restore of a worker, in memory")):
        seconds = [run[name]["seconds"] for run in runs]
        cpu = median(run[name]["cpu"] for run in runs) / count * 1e6
        memory = median(run[name]["megabytes"] for run in runs) / count * 1e6
        rows.append([label, f"{count / median(seconds):,.0f}", f"{cpu:.1f}", f"{memory:,.0f}"])
    print(f"\n{count:,} parked records of {BYTES:,} bytes, {rounds} rounds\n")
    table(["", "records/s", "CPU us/record", "MB per million"], rows)
    print()
    bars = Bars()
    bars.at_least("restore / bare loop", [run["bare"]["seconds"] / run["restore"]["seconds"] for run in runs], 0.8)
    return 1 if arguments.check and bars.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
