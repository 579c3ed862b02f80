"""An installation for tests: topics under a fresh namespace, routers and workers as processes, what they wrote."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.cli.main import app
from parkway.runtime.clients import admin_client, manual_consumer
from parkway.runtime.group_members import describe_groups
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.log_offsets import high_watermarks
from parkway.runtime.plan_log import Published, read_plans
from parkway.runtime.settings import Settings
from parkway.runtime.topology import apply_topics
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan
from parkway.workers.completion import decode

HERE = Path(__file__).parent
# For processes: the agents of the tests, and the code under test where it is not the installed one.
PYTHONPATH = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
T = TypeVar("T")


def wait_for(what: str, condition: Callable[[], T], seconds: float = 30.0) -> T:
    """Wait until `condition` gives something true; fail with `what` after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.05)


@dataclass(frozen=True)
class Said:
    """What a command said: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Read:
    """A record as a read_committed consumer sees it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]

    @property
    def json(self) -> Any:
        return json.loads(self.value or b"null")


class Installation:
    def __init__(self, bootstrap: str, namespace: str, agent: str, folder: Path, partitions: int = 3) -> None:
        self.settings = Settings(bootstrap_servers=bootstrap, namespace=namespace)
        self.topics = self.settings.topics
        self.agent = agent
        self.folder = folder
        self.partitions = partitions
        sys.path.insert(0, str(HERE))
        self.plan = build_plan(load_agent(agent), agent)
        self.admin: AdminClient = admin_client(self.settings, "tests")
        self.plan_file = folder / "plan.json"
        self.apply(self.plan)
        self.processes: list[subprocess.Popen[bytes]] = []
        self._producer: Producer | None = None
        self._offsets: dict[str, GroupOffsets] = {}
        self._stuck: list[AdminClient] = []  # kept: to destroy one whose broker is gone can hang

    def apply(self, plan: Plan) -> None:
        self.plan = plan
        self.plan_file.write_bytes(plan.to_json())
        apply_topics(self.admin, self.settings.bootstrap_servers, self.topics, plan, self.partitions)

    # -- processes

    def router(self, instance: str = "r0", **environment: str) -> subprocess.Popen[bytes]:
        return self._start(["router", "--plan", str(self.plan_file), "--instance", instance], instance, environment)

    def faulty_router(self, faults: str, instance: str = "r0", **environment: str) -> subprocess.Popen[bytes]:
        """A router whose producer meets `faults` (faults.py)."""
        command = ["router", "--plan", str(self.plan_file), "--instance", instance]
        script = [str(HERE / "faults.py")]
        return self._start(command, instance, {"FAULTS": faults, **environment}, script)

    def following_router(self, instance: str = "r0", **environment: str) -> subprocess.Popen[bytes]:
        """A router that takes its plan from the plan topic."""
        return self._start(["router", "--instance", instance], instance, environment)

    def worker(self, instance: str = "w0", *actions: str, **environment: str) -> subprocess.Popen[bytes]:
        chosen = [word for name in actions for word in ("--action", name)]
        return self._start(["worker", self.agent, "--instance", instance, *chosen], instance, environment)

    def parkway(self, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        settings = {
            "PARKWAY_BOOTSTRAP_SERVERS": self.settings.bootstrap_servers,
            "PARKWAY_NAMESPACE": self.settings.namespace,
            "PYTHONPATH": PYTHONPATH,
        }
        return subprocess.run(
            [sys.executable, "-m", "parkway.cli", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env={**os.environ, **settings, **environment},
        )

    def command(self, *arguments: str, answer: str = "", **environment: str) -> Said:
        """`parkway ...`, in this process: another one takes seconds to start. With `answer` as at a terminal.

        Not for `router`, `worker` and `dev`: what they set for the whole process (logs) would stay.
        """
        settings = {
            "PARKWAY_BOOTSTRAP_SERVERS": self.settings.bootstrap_servers,
            "PARKWAY_NAMESPACE": self.settings.namespace,
        }
        with patch("parkway.cli.ask.at_a_terminal", return_value=bool(answer)):
            result = CliRunner().invoke(app, list(arguments), input=answer, env={**settings, **environment})
        if isinstance(result.exception, ParkwayError):
            return Said(2, result.stdout, str(result.exception))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    def faulty_worker(self, instance: str, *actions: str, faults: str, **environment: str) -> subprocess.Popen[bytes]:
        """A worker whose producer meets `faults` (faults.py)."""
        chosen = [word for name in actions for word in ("--action", name)]
        command = ["worker", self.agent, "--instance", instance, *chosen]
        return self._start(command, instance, {"FAULTS": faults, **environment}, [str(HERE / "faults.py")])

    def _start(
        self, command: list[str], name: str, extra: Mapping[str, str], program: Sequence[str] = ("-m", "parkway.cli")
    ) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "PARKWAY_BOOTSTRAP_SERVERS": self.settings.bootstrap_servers,
            "PARKWAY_NAMESPACE": self.settings.namespace,
            "PARKWAY_SESSION_TIMEOUT": "6",
            "PARKWAY_TRANSACTION_TIMEOUT": "10",
            "PYTHONPATH": PYTHONPATH,
            **extra,
        }
        log = (self.folder / f"{name}.log").open("ab")
        process = subprocess.Popen(
            [sys.executable, *program, *command], env=environment, stdout=log, stderr=log, cwd=self.folder
        )
        log.close()
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        # Clients that are destroyed after their broker can hang for ever.
        for offsets in self._offsets.values():
            offsets.close()
        del self.admin
        self._producer = None

    def logs(self) -> str:
        return "\n".join(
            f"--- {log.name}\n{log.read_text(errors='replace')[-4000:]}" for log in sorted(self.folder.glob("*.log"))
        )

    def log_lines(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / f"{name}.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    # -- what others may do to a cluster

    def abort_transaction(self, topic: str) -> None:
        """Leave an aborted record, and its marker, at the end of `topic`."""
        producer = Producer(
            {"bootstrap.servers": self.settings.bootstrap_servers, "transactional.id": "outside", "log_level": 0}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, b"aborted", partition=0)
        producer.flush()
        producer.abort_transaction(30)

    def set_offset(self, group: str, topic: str, offset: int) -> None:
        """As `kafka-consumer-groups --reset-offsets` does while nobody is in the group."""
        change = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, offset)])

        def done() -> bool:
            try:
                answer = self.admin.alter_consumer_group_offsets([change], request_timeout=60.0)[group].result()
            except KafkaException:
                return False
            return all(one.error is None for one in answer.topic_partitions)  # such as: somebody is in the group

        wait_for("the offset is set", done)

    # -- records

    def emit(
        self,
        value: bytes | dict[str, Any] | None,
        *,
        key: str | None = None,
        topic: str | None = None,
        partition: int = -1,
        headers: Mapping[str, bytes | str] | None = None,
    ) -> None:
        if self._producer is None:
            self._producer = Producer(
                {
                    "bootstrap.servers": self.settings.bootstrap_servers,
                    "message.max.bytes": 20_000_000,
                    "log_level": 0,
                    "linger.ms": 1,
                    "compression.type": "gzip",
                    "enable.idempotence": True,  # a broker that dies loses and doubles nothing of it
                }
            )
        body = json.dumps(value).encode() if isinstance(value, dict) else value
        while True:
            try:
                self._producer.produce(topic or self.topics.requests, body, key, partition, headers=dict(headers or {}))
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def poll_producer(self) -> None:
        """Serve its delivery reports: they would fill its queue."""
        if self._producer is not None:
            self._producer.poll(0)

    def flush(self, seconds: float = 30.0) -> None:
        assert self._producer is not None
        assert self._producer.flush(seconds) == 0

    def high_watermarks(self, topic: str) -> dict[int, int]:
        asked = [(topic, partition) for partition in range(self.partitions)]

        def answered() -> dict[tuple[str, int], int] | None:
            found = high_watermarks(self.admin, asked)
            if found is None:  # some clients never find a broker again that stood still
                self._stuck.append(self.admin)
                self.admin = admin_client(self.settings, "tests")
            return found

        answer = wait_for(f"watermarks of {topic}", answered, 60.0)
        return {partition: offset for (_, partition), offset in answer.items()}

    def read(self, topic: str, seconds: float = 60.0) -> list[Read]:
        """Everything committed, up to the high watermark: waits for open transactions."""
        ends = self.high_watermarks(topic)
        consumer = manual_consumer(self.settings, "tests-read", **{"enable.partition.eof": True})
        consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
        left = {partition for partition, end in ends.items() if end > 0}
        found: list[Read] = []
        deadline = time.monotonic() + seconds
        while left:
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end: an open transaction?"
            found += [_read(message) for message in consumer.consume(1000, 0.1) if message.error() is None]
            for position in consumer.position([TopicPartition(topic, partition) for partition in left]):
                if position.offset >= ends[position.partition]:
                    left.discard(position.partition)
        consumer.close()
        return sorted(found, key=lambda read: (read.partition, read.offset))

    def read_plans(self) -> list[Published]:
        return read_plans(self.settings, self.admin, "tests-plans")[0]

    def create_topic(self, name: str, partitions: int) -> None:
        """A topic of somebody else's."""
        self.admin.create_topics([NewTopic(name, num_partitions=partitions)])[name].result()

        def led() -> bool:
            found = self.admin.list_topics(timeout=10).topics.get(name)
            return found is not None and len(found.partitions) == partitions

        wait_for(f"topic {name}", led)

    def wait_read(self, topic: str, count: int, seconds: float = 60.0) -> list[Read]:
        """Wait until `topic` holds at least `count` committed records."""
        records: list[Read] = []

        def enough() -> bool:
            records[:] = self.read(topic)
            return len(records) >= count

        try:
            wait_for(f"{count} records in {topic} (have {len(records)})", enough, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; has {len(records)}\n{self.logs()}") from None
        return records

    def parked(self) -> dict[bytes, bytes]:
        """What is parked now."""
        live: dict[bytes, bytes] = {}
        for record in self.read(self.topics.parked):
            assert record.key is not None
            if record.value is None:
                live.pop(record.key, None)
            else:
                live[record.key] = record.value
        return live

    def lag(self, group: str, topic: str) -> int:
        """Committed offsets against the high watermark (stable ones only)."""
        wanted = [TopicPartition(topic, partition) for partition in range(self.partitions)]
        asked = self._offsets.setdefault(group, GroupOffsets(self.settings, "tests-offsets", group))
        committed = asked.committed(wanted, 5.0)
        if committed is None:
            return -1
        ends = self.high_watermarks(topic)
        total = 0
        for one in committed:
            total += ends[one.partition] - max(0, one.offset)
        return total

    def attempts(self, action: str) -> dict[int, int]:
        """Partition 0 of an action's topic: the failed attempts that are committed, by offset."""
        group, place = self.topics.worker_group(action), TopicPartition(self.topics.action(action), 0)
        asked = self._offsets.setdefault(group, GroupOffsets(self.settings, "tests-offsets", group))
        committed = asked.committed([place], 5.0)
        if not committed or not committed[0].metadata:
            return {}
        return {offset: tried.attempts for offset, tried in decode(committed[0].metadata).tried.items()}

    def wait_no_lag(self, group: str, topic: str, seconds: float = 40.0) -> None:
        wait_for(f"no lag of {group} on {topic}", lambda: self.lag(group, topic) == 0, seconds)

    def wait_all_done(self, seconds: float = 60.0) -> None:
        """Every record of every topic in between is completed, and committed past control records."""
        pairs = [(self.topics.router_group, self.topics.requests), (self.topics.router_group, self.topics.events)]
        for action in self.plan.actions:
            group = self.topics.worker_group(action.name)
            pairs.append((group, self.topics.action(action.name)))
            if action.parks:
                pairs.append((group, self.topics.resume(action.name)))

        left: dict[tuple[str, str], int] = {}

        def done() -> bool:
            left.update({pair: self.lag(*pair) for pair in pairs})
            return not any(left.values())

        try:
            wait_for("no lag anywhere", lambda: done() and done(), seconds)
        except AssertionError as error:
            behind = {pair: lag for pair, lag in left.items() if lag}
            raise AssertionError(f"{error}: {behind}\n{self.logs()}") from None

    def wait_all_done_for(self, action: str) -> None:
        self.wait_no_lag(self.topics.worker_group(action), self.topics.action(action))

    @staticmethod
    def broker_time() -> int:
        """Milliseconds since 1970: the broker runs on this machine."""
        return time.time_ns() // 1_000_000

    def wait_members(self, group: str, count: int, seconds: float = 60.0) -> None:
        """Wait until the group is stable with `count` members."""

        seen = "nothing"

        def stable() -> bool:
            nonlocal seen
            described = describe_groups(self.settings, "tests", [group], 5.0).get(group)
            if described is None:
                return False
            seen = f"{described.state.name} with {len(described.members)}"
            state = "STABLE" if count else "EMPTY"
            return described.state.name == state and len(described.members) == count

        try:
            wait_for(f"{count} members in {group}", stable, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {seen}\n{self.logs()}") from None


def _read(message: Message) -> Read:
    return Read(
        message.topic(),
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        dict(message.headers() or []),
    )


def event(event_type: str, event_id: str | None = None, **attributes: Any) -> dict[str, Any]:
    return {"id": event_id or str(uuid.uuid4()), "type": event_type, "attributes": attributes}


@contextmanager
def installation(
    bootstrap: str, namespace: str, agent: str, folder: Path, partitions: int = 3
) -> Iterator[Installation]:
    one = Installation(bootstrap, namespace, agent, folder, partitions)
    try:
        yield one
    finally:
        one.stop()
