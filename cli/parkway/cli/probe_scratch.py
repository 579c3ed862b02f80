"""Topics, groups and clients of a probe, under a name of its own; all of it goes away again."""

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from parkway.runtime.clients import group_consumer, transactional_producer
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.log_offsets import high_watermarks
from parkway.runtime.log_reader import read_up_to
from parkway.runtime.settings import Settings
from parkway.runtime.topology import wait_until_led

CALL: Final = 20.0  # seconds, of one call of the transactional API
_JOIN: Final = 30.0


class ProbeError(Exception):
    """A rule that this Kafka does not keep, or what kept the probe from finding out."""

    def __init__(self, message: str, *, broken: bool = True) -> None:
        super().__init__(message)
        self.broken = broken


class Member:
    """A consumer in a group. `metadata`: of its first generation, as it was captured when that began."""

    def __init__(self, consumer: Consumer, topic: str) -> None:
        self.consumer = consumer
        self.metadata: Any = None
        self._generations = 0
        consumer.subscribe([topic], on_assign=self._on_assign)

    def poll(self) -> int:
        """Returns how many generations it has been in."""
        self.consumer.poll(0.1)
        return self._generations

    def _on_assign(self, consumer: Consumer, _: object) -> None:
        self._generations += 1
        if self.metadata is None:
            self.metadata = consumer.consumer_group_metadata()


class Scratch:
    """Each method is for one thread."""

    def __init__(self, settings: Settings, admin: AdminClient, name: str) -> None:
        # What a probe provokes is no news to anybody.
        quiet = {
            "session_timeout": max(6.0, min(settings.session_timeout, 10.0)),
            "kafka": {**settings.kafka, "log_level": "0"},
        }
        self.settings = settings.model_copy(update=quiet)
        self.admin = admin
        self.name = name
        self.replicas = min(3, len(admin.list_topics(timeout=10.0).brokers))
        self._topics: list[str] = []
        self._groups: list[str] = []

    def topic(self, word: str, **config: str) -> str:
        """A new topic of one partition."""
        name = f"{self.name}.{word}"
        new = NewTopic(name, num_partitions=1, replication_factor=self.replicas, config=config)
        try:
            self.admin.create_topics([new], operation_timeout=30.0)[name].result()
        except KafkaException as failure:
            raise ProbeError(f"{name} cannot be created: {failure.args[0].str()}", broken=False) from None
        self._topics.append(name)
        wait_until_led(self.admin, self.settings.bootstrap_servers, [name], 1)
        return name

    def group(self, word: str) -> str:
        name = f"{self.name}.{word}"
        self._groups.append(name)
        return name

    def producer(self, word: str) -> Producer:
        """A transactional producer that is initialised."""
        producer = transactional_producer(self.settings, f"{self.name}.{word}", lambda *_: None)
        producer.init_transactions(CALL)
        return producer

    @contextmanager
    def member(self, group: str, topic: str) -> Iterator["Member"]:
        """A consumer that has joined the group."""
        member = Member(group_consumer(self.settings, f"{self.name}.{group}", group), topic)
        try:
            self.until("a consumer joins its group", lambda: member.poll() >= 1, _JOIN)
            yield member
        finally:
            member.consumer.close()

    @contextmanager
    def joining(self, group: str, topic: str, other: "Member") -> Iterator["Member"]:
        """A second one, whose coming has begun another generation for the first one, too."""
        member = Member(group_consumer(self.settings, f"{self.name}.{group}-2", group), topic)
        try:
            self.until("two consumers share a group", lambda: min(member.poll(), other.poll() - 1) >= 1, _JOIN)
            yield member
        finally:
            member.consumer.close()

    def committed(self, group: str, topic: str, seconds: float = CALL) -> TopicPartition | None:
        """The group's offset; None when there is no stable answer in time."""
        offsets = GroupOffsets(self.settings, f"{self.name}.asks", group)
        try:
            answer = offsets.committed([TopicPartition(topic, 0)], seconds)
        finally:
            offsets.close()
        return answer[0] if answer else None

    def read(self, topic: str) -> list[bytes | None]:
        """What a read_committed consumer sees."""
        ends = self.until("the end of a topic", lambda: high_watermarks(self.admin, [(topic, 0)]), CALL)
        read = read_up_to(self.settings, f"{self.name}.reads", {(topic, 0): 0}, ends, CALL + 20)
        return [message.value() for message in read]

    @staticmethod
    def until(what: str, condition: Callable[[], Any], seconds: float) -> Any:
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        raise ProbeError(f"not within {seconds:g} s: {what}", broken=False)

    def remove(self) -> list[str]:
        """Delete everything; returns what could not be."""
        left = [*_gone(self.admin.delete_consumer_groups, self._groups), *_gone(self.admin.delete_topics, self._topics)]
        return [name for name in left if name in self._topics]  # a group without offsets is not there


def _gone(delete: Callable[..., dict[str, Any]], names: Sequence[str]) -> Iterator[str]:
    if not names:
        return
    for name, future in delete(list(names), request_timeout=30.0).items():
        try:
            future.result()
        except KafkaException:
            yield name


@contextmanager
def scratch(settings: Settings, admin: AdminClient) -> Iterator[Scratch]:
    """Names say what it is: `<ns>.probe-<random>.*`. `remove` is the caller's, who says what is left."""
    one = Scratch(settings, admin, f"{settings.namespace}.probe-{secrets.token_hex(3)}")
    try:
        yield one
    except BaseException:
        with contextlib.suppress(Exception):
            one.remove()
        raise
