"""A worker's restore of parked records against the least that has to be done: a consume loop into a dict.

    python benchmarks/restore.py [--records 200000] [--rounds 5]
    python benchmarks/restore.py --check    # exit 1 below 0.8 of the loop's rate
    python benchmarks/restore.py --quick    # 20,000 records, one round

All read the same topic of 1 KB records, each in a process of its own, one after the other. The restore is the worker's
(`workers/restore.py`), until the partition may start: committed offsets, watermarks, every record found by its
request id. The clients that ask for offsets are connected before, as a worker's are once it has joined its group; the
one that reads is made within the time. In memory the rest of the index is made while work goes on
(`workers/indexing.py`): CPU and time of that are printed apart, of a loop that does nothing else. On disk nothing is
left for later.
Memory is what the process holds in the end (resident, less what it held before), after 5,000 look-ups at random: a tool
response that finds its request, and claims it.
"""

import argparse
import ctypes
import gc
import json
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from harness.report import Bars, table

from parkway.runtime.clients import admin_client
from parkway.runtime.garbage import calm_collector
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.logs import configure_logs
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics, topic_ids
from parkway.schemas.parked import Origin, ParkedRecord, parked_key
from parkway.schemas.plan import ActionPlan, Plan
from parkway.testing.kafka import PipKafka
from parkway.workers.assignment import Partition
from parkway.workers.parked import ParkedIndex
from parkway.workers.restore import Restorer
from parkway.workers.stores import Stores

ACTION = "chat"
BYTES = 1_000
WAITS_FOR = "{:08x}-91aa-4d9b-8f00-5ca1ab1e0000"
LOOK_UPS = 5_000
TIMES = ("p50", "p99")


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
            waits_for=WAITS_FOR.format(number),
            pending_calls=("call-1",),
            deadline=4_102_444_800_000 + number,
            token=f"{ACTION}.0.{number:032x}",
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
        for message in consumer.consume(5_000, 0.05):
            error = message.error()
            if error is None:
                found[message.key()] = message.value()
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                seconds = time.perf_counter() - began
                consumer.close()
                return seconds, found


def restore(settings: Settings) -> tuple[float, ParkedIndex]:
    """Seconds, and the index of the partition, as a worker has it when it starts."""
    admin = admin_client(settings, "bench")
    topics = [settings.topics.action(ACTION), settings.topics.resume(ACTION)]
    offsets = GroupOffsets(settings, "bench", settings.topics.worker_group(ACTION))
    while offsets.committed([TopicPartition(topic, 0) for topic in topics], 1.0) is None:
        time.sleep(0.02)
    restorer = Restorer(
        settings,
        admin,
        planned=ActionPlan(name=ACTION, triggers=(), resumed_by=("_tool_response_event",)),
        topic_ids=topic_ids(admin, topics),
        make_store=Stores(settings, "bench").of_action(ACTION),
        offsets=offsets,
    )
    began = time.perf_counter()
    restored = restorer.restore([0], {}, threading.Event())
    partition = Partition(0, restored[0], ACTION, settings.topics)
    return time.perf_counter() - began, partition.parked


LABELS = {
    "bare": "bare loop into a dict",
    "memory": "restore of a worker, in memory",
    "disk": "restore of a worker, on disk",
}


def look_ups(index: ParkedIndex, records: int) -> list[float]:
    """Seconds of each, in order."""
    found = []
    for number in random.Random(1).sample(range(records), LOOK_UPS):
        began = time.perf_counter()
        request_id = index.waiting_for(WAITS_FOR.format(number))
        assert request_id is not None
        assert index.claim(request_id) is not None
        found.append(time.perf_counter() - began)
    return sorted(found)


def child(name: str, bootstrap: str, records: int, folder: str) -> None:
    """Measure one of them, in this process."""
    store = "disk" if name == "disk" else "memory"
    settings = Settings(
        bootstrap_servers=bootstrap, namespace="bench", parked_store=store, parked_dir=Path(folder) / "parked"
    )
    calm_collector()  # as a worker process does
    before = _megabytes()
    cpu = time.process_time()
    found: dict[str, float] = {}
    if name == "bare":
        found["seconds"], kept = bare_loop(settings)
        found["cpu"] = time.process_time() - cpu
    else:
        found["seconds"], kept = restore(settings)
        found["cpu"] = time.process_time() - cpu
        began = time.perf_counter()
        while not kept.is_indexed:
            kept.index(0.005)
        found["indexed"] = time.perf_counter() - began
        times = look_ups(kept, records)
        found["p50"], found["p99"] = times[len(times) // 2], times[len(times) * 99 // 100]
    gc.collect()
    assert len(kept) == records, f"{name}: {len(kept)} of {records}"
    found["megabytes"] = _megabytes() - before
    print(json.dumps(found))


def _megabytes() -> float:
    """Resident now, without what the allocator keeps of the client's buffers."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1_000_000


def measure(bootstrap: str, name: str, records: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--child", name, bootstrap, str(records), folder]
        found: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="exit 1 when the bar is missed")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    configure_logs(level="error")
    if arguments.child:
        name, bootstrap, records, folder = arguments.child
        child(name, bootstrap, int(records), folder)
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
        runs = [{name: measure(settings.bootstrap_servers, name, count) for name in LABELS} for _ in range(rounds)]
    rows = []
    for name, label in LABELS.items():
        seconds = [run[name]["seconds"] for run in runs]
        cpu = median(run[name]["cpu"] for run in runs) / count * 1e6
        memory = median(run[name]["megabytes"] for run in runs)
        times = [
            f"{median(run[name][one] for run in runs) * 1e6:,.0f}" if one in runs[0][name] else "" for one in TIMES
        ]
        rows.append(
            [
                label,
                f"{count / median(seconds):,.0f}",
                f"{cpu:.1f}",
                f"{median(run[name].get('indexed', 0) for run in runs) / count * 1e6:.1f}",
                f"{memory:,.0f}",
                f"{memory / count * 1e6:,.0f}",
                *times,
            ]
        )
    print(f"\n{count:,} parked records of {BYTES:,} bytes, {rounds} rounds\n")
    table(["", "records/s", "CPU us/record", "indexed later, us", "MB", "MB per million", "look-up us", "p99"], rows)
    print("\nOn disk the memory is RocksDB's buffers and caches, and grows little: see --records 1000000.\n")
    bars = Bars()
    bars.at_least("restore / bare loop", [run["bare"]["seconds"] / run["memory"]["seconds"] for run in runs], 0.8)
    on_disk = [run["bare"]["seconds"] / run["disk"]["seconds"] for run in runs]
    print(f"restore on disk / bare loop: {median(on_disk):.2f} ({min(on_disk):.2f} to {max(on_disk):.2f}; no bar)")
    return 1 if arguments.check and bars.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
