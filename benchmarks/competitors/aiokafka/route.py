"""aiokafka without a framework, at least once: getmany, match, send, wait for all, commit."""

import asyncio

import job
import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer


async def main() -> None:
    consumer = AIOKafkaConsumer(
        job.SOURCE,
        bootstrap_servers=job.BOOTSTRAP,
        group_id=job.GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    producer = AIOKafkaProducer(bootstrap_servers=job.BOOTSTRAP, linger_ms=5)
    await consumer.start()
    await producer.start()
    while True:
        taken = await consumer.getmany(timeout_ms=100, max_records=2_000)
        sent = []
        for messages in taken.values():
            for message in messages:
                actions = job.match(orjson.loads(message.value))
                sent += [await producer.send(job.TOPICS[action], message.value, message.key) for action in actions]
        await asyncio.gather(*sent)
        if taken:
            await consumer.commit()


asyncio.run(main())
