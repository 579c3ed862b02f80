"""The worker on a real Kafka: CPU per no-op record, and the latency of one chat at a time over the whole pipeline.

python benchmarks/worker.py [--records 20000] [--chats 200] [--check]
# --check: under 100 us CPU a record; chat p50 at most 15 ms, p99 at most 80 ms
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.runtime.clients import admin_client, manual_consumer
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.logs import configure_logs
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics
from parkway.testing.kafka import PipKafka

HERE = Path(__file__).parent
AGENT = "bench_agents:Bench"


def start(settings: Settings, *command: str) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "PARKWAY_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
        "PARKWAY_NAMESPACE": settings.namespace,
        "PARKWAY_LOG_LEVEL": "error",
        "PYTHONPATH": str(HERE),
    }
    return subprocess.Popen([sys.executable, "-m", "parkway.cli", *command], env=environment)


def cpu(process: subprocess.Popen[bytes]) -> float:
    ticks = sum(int(field) for field in Path(f"/proc/{process.pid}/stat").read_text().split()[13:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def no_op(settings: Settings, records: int) -> tuple[float, float]:
    """Records a second, and microseconds of CPU a record beyond the first batch (so without start-up)."""
    topic = settings.topics.action("nothing")
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "queue.buffering.max.messages": 1_000_000})
    headers = [("parkway-type", b"nothing"), ("parkway-hops", b"0")]
    for number in range(records):
        body = {"id": str(number), "type": "nothing", "attributes": {"pad": "x" * 500}}
        producer.produce(topic, json.dumps(body), str(number), 0, headers=headers)
    producer.flush()
    offsets = GroupOffsets(settings, "bench", settings.topics.worker_group("nothing"))
    worker = start(settings, "worker", AGENT, "--action", "nothing")
    began, first, used = 0.0, 0, 0.0
    try:
        while True:
            answer = offsets.committed([TopicPartition(topic, 0)], 1.0)
            done = max(0, answer[0].offset) if answer else 0
            if done and not began:
                began, first, used = time.perf_counter(), done, cpu(worker)
            if done >= records:
                break
            time.sleep(0.01)
        count = max(1, records - first)
        return count / (time.perf_counter() - began), (cpu(worker) - used) / count * 1e6
    finally:
        offsets.close()
        worker.terminate()
        worker.wait()


def chat_latency(settings: Settings, plan_file: Path, chats: int) -> list[float]:
    """Milliseconds from `produce` to the response in `outputs`, read_committed, one chat after the other."""
    processes = [
        start(settings, "router", "--plan", str(plan_file)),
        start(settings, "worker", AGENT, "--action", "chat"),
    ]
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "linger.ms": 0})
    outputs: Consumer = manual_consumer(settings, "bench", **{"fetch.wait.max.ms": 10})
    outputs.assign([TopicPartition(settings.topics.outputs, 0, 0)])
    body = {"type": "_chat_request_event", "attributes": {"model": "assistant"}}
    body["attributes"]["messages"] = [{"role": "user", "content": "hi"}]
    took = []
    try:
        for number in range(chats + 20):
            began = time.perf_counter()
            value = json.dumps({**body, "id": str(uuid.uuid4())})
            producer.produce(settings.topics.requests, value, partition=0)
            producer.flush()
            message = None
            while message is None:
                message = outputs.poll(60)
            if number >= 20:
                took.append((time.perf_counter() - began) * 1000)
        return took
    finally:
        outputs.close()
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--chats", type=int, default=200)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    configure_logs(level="error")
    sys.path.insert(0, str(HERE))
    plan = build_plan(load_agent(AGENT), AGENT)
    with PipKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        plan_file = Path(folder) / "plan.json"
        plan_file.write_bytes(plan.to_json())
        settings = Settings(bootstrap_servers=kafka.bootstrap_servers, namespace="bench")
        apply_topics(admin_client(settings, "bench"), settings.bootstrap_servers, settings.topics, plan, 1)
        rate, used = no_op(settings, arguments.records)
        print(f"no-op action        {rate:8.0f} records/s   {used:5.1f} us CPU a record (the bar is 100)")
        took = sorted(chat_latency(settings, plan_file, arguments.chats))
    p50, p99 = statistics.median(took), took[int(len(took) * 0.99) - 1]
    print(
        f"chat, one at a time p50 {p50:5.1f} ms (15)   p95 {took[int(len(took) * 0.95) - 1]:5.1f}   p99 {p99:5.1f} (80)"
    )
    return 1 if arguments.check and (used > 100 or p50 > 15 or p99 > 80) else 0


if __name__ == "__main__":
    raise SystemExit(main())
