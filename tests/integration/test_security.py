"""TLS, SASL/SCRAM and the ACLs of `deploy/acls`, on a broker with the standard authorizer: who can do what."""

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from agents import Chats
from certificates import make_certificates
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from installation import PYTHONPATH, wait_for

from parkway.agents import Event
from parkway.agents.build import build_plan
from parkway.schemas.topics import Topics
from parkway.testing.kafka import PipKafka, Security
from parkway.testing.stack.processes import Process, stop

pytestmark = pytest.mark.timeout(400)  # ACLs are made by two dozen JVMs

DEPLOY = Path(__file__).parents[2] / "deploy"
ROLES = ("producer", "client", "router", "worker", "chat-worker", "operator", "viewer", "replayer", "consumer")
USERS = {name: f"secret-of-{name}" for name in ("admin", *ROLES)}
TOPICS = Topics("parkway")
PLAN = build_plan(Chats, "agents:Chats")
ALL_TOPICS = [
    TOPICS.requests,
    TOPICS.events,
    TOPICS.outputs,
    TOPICS.parked,
    TOPICS.journal,
    TOPICS.dlq,
    TOPICS.plans,
    *(TOPICS.action(action.name) for action in PLAN.actions),
    *(TOPICS.resume(action.name) for action in PLAN.actions if action.parks),
]
# What each may write, of all topics.
WRITES = {
    "producer": {TOPICS.requests},
    "client": {TOPICS.requests},
    "consumer": set(),
    "router": {
        TOPICS.events,
        TOPICS.outputs,
        TOPICS.dlq,
        *(topic for topic in ALL_TOPICS if topic.startswith(("parkway.action.", "parkway.resume."))),
    },
    "worker": {TOPICS.events, TOPICS.outputs, TOPICS.parked, TOPICS.journal, TOPICS.dlq},
    "operator": {TOPICS.events, TOPICS.plans},
    "viewer": set(),
    "replayer": {
        TOPICS.requests,
        TOPICS.events,
        TOPICS.dlq,
        *(topic for topic in ALL_TOPICS if topic.startswith(("parkway.action.", "parkway.resume."))),
    },
}
# And read.
READS = {
    "producer": set(),
    "client": {TOPICS.outputs},
    "consumer": {TOPICS.outputs},
    "router": {TOPICS.requests, TOPICS.events, TOPICS.plans},
    "worker": {TOPICS.parked, TOPICS.plans, *(t for t in WRITES["router"] if t.startswith("parkway.a"))}
    | {topic for topic in ALL_TOPICS if topic.startswith("parkway.resume.")},
    "chat-worker": {TOPICS.parked, TOPICS.plans, TOPICS.action("chat"), TOPICS.resume("chat")},
    "operator": {TOPICS.plans, TOPICS.parked, TOPICS.outputs},
    "viewer": set(ALL_TOPICS),
    "replayer": {TOPICS.plans, TOPICS.dlq},
}


@dataclass
class Secured:
    """A broker with users, and its files: what `deploy/tls` gives as examples."""

    kafka: PipKafka
    folder: Path
    authority: Path

    def client(self, user: str, password: str | None = None) -> dict[str, str]:
        """What librdkafka is given, out of the example file of the processes."""
        return {
            name.removeprefix("PARKWAY_KAFKA_").lower().replace("_", "."): value
            for name, value in self.environment(user, password).items()
            if name.startswith("PARKWAY_KAFKA_")
        } | {"bootstrap.servers": self.kafka.bootstrap_servers}

    def environment(self, user: str, password: str | None = None) -> dict[str, str]:
        lines = (DEPLOY / "tls" / "parkway.env").read_text().splitlines()
        example = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        return example | {
            "PARKWAY_BOOTSTRAP_SERVERS": self.kafka.bootstrap_servers,
            "PARKWAY_KAFKA_SASL_USERNAME": user,
            "PARKWAY_KAFKA_SASL_PASSWORD": password or USERS[user],
            "PARKWAY_KAFKA_SSL_CA_LOCATION": str(self.authority),
        }

    def tools(self) -> tuple[Path, Path]:
        """Kafka's own ACL command as a script, and its configuration: the example, with the password filled in."""
        command, admin = self.folder / "kafka-acls.sh", self.folder / "admin.properties"
        java = self.kafka.tool("org.apache.kafka.tools.AclCommand")
        command.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in java) + ' "$@"\n')
        command.chmod(0o755)
        example = (DEPLOY / "tls" / "admin.properties").read_text()
        admin.write_text(
            example.replace("change-me", USERS["admin"]).replace("/etc/parkway/ca.pem", str(self.authority))
        )
        return command, admin

    def allow(self, tools: tuple[Path, Path], role: str, user: str, *options: str) -> None:
        """Run the ACL script."""
        command, admin = tools
        connection = ["--bootstrap-server", self.kafka.bootstrap_servers, "--command-config", str(admin)]
        done = subprocess.run(
            [str(DEPLOY / "acls" / "parkway-acls.sh"), role, f"User:{user}", *options, "--", *connection],
            env={**os.environ, "KAFKA_ACLS": str(command)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def parkway(self, user: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [os.sys.executable, "-m", "parkway.cli", *arguments],
            env={**os.environ, **self.environment(user), "PYTHONPATH": PYTHONPATH},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority, broker = make_certificates(folder)
    with PipKafka(security=Security(users=USERS, certificate=broker)) as kafka:
        one = Secured(kafka, folder, authority)
        tools = one.tools()
        roles = [[role, role] for role in ("producer", "client", "router", "worker", "operator", "viewer", "replayer")]
        roles += [["worker", "chat-worker", "--action", "chat"], ["consumer", "consumer", "--group", "shop"]]
        with ThreadPoolExecutor(3) as pool:  # two dozen JVMs
            list(pool.map(lambda words: one.allow(tools, *words), roles))
        plan = folder / "plan.json"
        plan.write_bytes(PLAN.to_json())
        for command in (
            ["topics", "apply", "--plan", str(plan), "--partitions", "2"],
            ["plan", "apply", "--yes", str(plan)],
        ):
            done = one.parkway("operator", *command)
            assert done.returncode == 0, done.stderr
        yield one


def test_every_role_can_do_its_work(secured: Secured) -> None:
    processes = [
        Process("router", ["router"], secured.environment("router"), secured.folder),
        Process("worker", ["worker", "agents:Chats"], secured.environment("worker"), secured.folder),
    ]
    with _running(processes):
        asked = Event(type="question", attributes={"rounds": 2, "number": 7})
        producer = Producer({**secured.client("producer"), "enable.idempotence": True})
        producer.produce(TOPICS.requests, asked.to_json(), "k")
        assert producer.flush(30) == 0
        consumer = Consumer(
            {
                **secured.client("consumer"),
                "group.id": "shop",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([TOPICS.outputs])
        message = wait_for("the answer", lambda: _answer(consumer, processes), 90)
        consumer.close()
        assert b'"number":7' in message.replace(b" ", b"")
        answered = secured.parkway("client", "request", "--text", "1 rounds for 8", "--timeout", "60s")
        assert answered.returncode == 0, answered.stderr
        assert "8:" in answered.stdout
        producer.produce(TOPICS.requests, b"no event")
        assert producer.flush(30) == 0
        wait_for("a dead letter", lambda: "invalid_json" in secured.parkway("replayer", "dlq", "list").stdout)
        replayed = secured.parkway("replayer", "dlq", "replay", "--yes", "--reason", "invalid_json")
        assert replayed.returncode == 0, replayed.stderr
        shown = secured.parkway("operator", "plan", "show")
        assert shown.returncode == 0, shown.stderr
        assert PLAN.build in shown.stdout
        listed = secured.parkway("operator", "parked", "list")
        assert listed.returncode == 0, listed.stderr
        _looks_in(secured, asked.id)


def _looks_in(secured: Secured, event_id: str) -> None:
    """A viewer sees what runs, and a doctor says what it may not."""
    for command in (["lag"], ["request", "show", event_id], ["trace", event_id], ["dlq", "list"]):
        done = secured.parkway("viewer", *command)
        assert done.returncode == 0, done.stdout + done.stderr
    doctor = secured.parkway("viewer", "doctor")
    assert "may not run routers: it lacks" in doctor.stdout, doctor.stdout + doctor.stderr
    assert "0 wrong" in doctor.stderr, doctor.stdout
    assert "brokers' settings may not be read" in doctor.stdout


@pytest.mark.parametrize("role", WRITES)
def test_who_may_write_what(secured: Secured, role: str) -> None:
    assert _writable(secured.client(role)) == WRITES[role]


@pytest.mark.parametrize("role", READS)
def test_who_may_read_what(secured: Secured, role: str) -> None:
    assert _readable(secured.client(role)) == READS[role]


def test_a_worker_of_one_action_has_its_topics_only(secured: Secured) -> None:
    group = _joinable(secured.client("chat-worker"), TOPICS.worker_group("tool"))
    assert group == KafkaError.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("role", "transactional_id"),
    [
        ("producer", "mine"),
        ("producer", "parkway.router.x.0"),
        ("router", "parkway.worker.chat.x.0"),
        ("worker", "parkway.router.x.0"),
        ("chat-worker", "parkway.worker.tool.x.0"),
        ("operator", "parkway.router.x.0"),
        ("client", "parkway.dlq-replay"),
        ("replayer", "parkway.router.x.0"),
    ],
)
def test_nobody_has_a_transactional_id_of_others(secured: Secured, role: str, transactional_id: str) -> None:
    producer = Producer({**secured.client(role), "transactional.id": transactional_id})
    with pytest.raises(KafkaException) as failure:
        producer.init_transactions(30)
    assert failure.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_a_wrong_password_and_a_foreign_authority_are_refused(secured: Secured, tmp_path: Path) -> None:
    assert _first_error(secured.client("producer", "wrong")) == KafkaError._AUTHENTICATION
    foreign, _ = make_certificates(tmp_path)
    assert _first_error({**secured.client("producer"), "ssl.ca.location": str(foreign)}) == KafkaError._SSL


def test_a_command_without_rights_says_so(secured: Secured) -> None:
    done = secured.parkway("producer", "plan", "apply", "--yes", str(secured.folder / "plan.json"))
    assert done.returncode != 0
    assert re.search(r"missing topic parkway\.plans|not authori[sz]ed|authorization failed", done.stderr, re.IGNORECASE)


@contextmanager
def _running(processes: list[Process]) -> Iterator[None]:
    try:
        for process in processes:
            process.start()
        yield
    finally:
        stop(processes)
    assert [process.exit_code for process in processes] == [0] * len(processes), processes[0].log_end()


def _answer(consumer: Consumer, processes: list[Process]) -> bytes | None:
    for process in processes:
        assert process.exit_code is None, process.log_end()
    message = consumer.poll(0.5)
    if message is None:
        return None
    assert message.error() is None, message.error()
    return message.value()


def _writable(client: dict[str, str]) -> set[str]:
    """The topics that take a record. It goes into no flow: routers and workers have ended."""
    taken: set[str] = set()
    refused: dict[str, KafkaError] = {}

    def on_delivery(error: KafkaError | None, message) -> None:
        if error is None:
            taken.add(message.topic())
        else:
            refused[message.topic()] = error

    producer = Producer({**client, "log_level": 0, "message.timeout.ms": 20_000})
    for topic in ALL_TOPICS:
        with suppress(KafkaException):  # known to be refused already
            producer.produce(topic, b"{}", "k", 0, on_delivery=on_delivery)
    producer.flush(30)
    assert {error.code() for error in refused.values()} <= {KafkaError.TOPIC_AUTHORIZATION_FAILED}, refused
    assert taken | refused.keys() == set(ALL_TOPICS)
    return taken


def _readable(client: dict[str, str]) -> set[str]:
    """The topics that can be fetched from."""
    readable: set[str] = set()
    consumer = Consumer(
        {
            **client,
            "group.id": "shop",
            "log_level": 0,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    hidden = {topic for topic in ALL_TOPICS if consumer.list_topics(topic, 30).topics[topic].error is not None}
    refused = set(hidden)
    consumer.assign([TopicPartition(topic, 0, 0) for topic in ALL_TOPICS if topic not in hidden])

    def all_known() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.topic() is not None:
            denied = message.error() is not None and message.error().code() != KafkaError._PARTITION_EOF
            (refused if denied else readable).add(message.topic())
        return readable | refused == set(ALL_TOPICS)

    wait_for("all topics answer", all_known, 30)
    consumer.close()
    assert not readable & refused
    return readable


def _joinable(client: dict[str, str], group: str) -> int:
    consumer = Consumer({**client, "group.id": group, "log_level": 0})
    consumer.subscribe([TOPICS.action("chat")])
    message = wait_for("an answer of the group", lambda: consumer.poll(1), 30)
    consumer.close()
    return message.error().code()


def _first_error(client: dict[str, str]) -> int:
    codes: list[int] = []
    producer = Producer({**client, "log_level": 0, "error_cb": lambda error: codes.append(error.code())})

    def answered() -> bool:
        producer.poll(0.2)
        return any(code != KafkaError._ALL_BROKERS_DOWN for code in codes)

    wait_for("an error", answered, 30)
    return next(code for code in codes if code != KafkaError._ALL_BROKERS_DOWN)
