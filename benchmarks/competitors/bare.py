"""The least that has to be done, at least once: consume, decode, match, produce, flush, commit. No framework."""

import job
import orjson
from confluent_kafka import Consumer, Producer

BATCH = 2_000

consumer = Consumer(
    {
        "bootstrap.servers": job.BOOTSTRAP,
        "group.id": job.GROUP,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "queued.min.messages": 20_000,
    }
)
producer = Producer({"bootstrap.servers": job.BOOTSTRAP, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
consumer.subscribe([job.SOURCE])

while True:
    messages = consumer.consume(BATCH, 0.1)
    for message in messages:
        value = message.value()
        for action in job.match(orjson.loads(value)):
            topic = job.TOPICS[action]
            producer.produce(topic, value, message.key(), message.partition(), headers=message.headers())
    if messages:
        producer.flush()
        consumer.commit(asynchronous=False)
