"""Topics of a run: filled with records, and read back with the time at which the broker appended each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.schemas.headers import Headers

# Brokers of benchmarks run with this: an output's timestamp is then the time of its arrival.
APPEND_TIME = {"log.message.timestamp.type": "LogAppendTime"}


def fill(bootstrap: str, topic: str, values: Iterable[bytes], headers: Headers, partitions: int = 1) -> None:
    """One record a value, each under a key of its own, into the partitions in turn."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "queue.buffering.max.messages": 1_000_000,
            "linger.ms": 20,
            "batch.size": 500_000,
        }
    )
    for number, value in enumerate(values):
        while True:
            try:
                producer.produce(topic, value, str(number).encode(), number % partitions, headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    left = producer.flush(120)
    assert left == 0, f"{left} records were not delivered to {topic}"


@dataclass(frozen=True)
class Arrivals:
    """When a reader that takes committed records only could have them, in seconds since 1970; sorted."""

    times: Sequence[float]

    def window(self, skipped: float) -> tuple[float, float, int]:
        """From the arrival after the first `skipped` (0 to 1) of them to the last one: begin, end, arrivals in it."""
        first = int(len(self.times) * skipped)
        return self.times[first], self.times[-1], len(self.times) - first - 1


def arrivals(bootstrap: str, topics: Sequence[str]) -> Arrivals:
    """Everything that stands in partition 0 of these topics."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0) for topic in topics])
        left, times = set(topics), []
        while left:
            for message in consumer.consume(10_000, 0.2):
                error = message.error()
                if error is None:
                    times.append(message.timestamp()[1] / 1000)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    left.discard(message.topic())
        return Arrivals(sorted(times))
    finally:
        consumer.close()


def delete(admin: AdminClient, topics: Sequence[str]) -> None:
    """The disk is needed for the next run."""
    for future in admin.delete_topics(list(topics)).values():
        future.result()
