"""aiokafka without a framework: getmany, all handlers at once by gather, commit.

The handler does nothing, or (`echo`) sends one record and waits until it is delivered.
"""

import asyncio

import job
import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

producer: AIOKafkaProducer


async def handle(record: ConsumerRecord) -> None:
    event = orjson.loads(record.value)
    if job.ECHO:
        await producer.send_and_wait(job.OUTPUTS, orjson.dumps(event["attributes"]), record.key)


async def main() -> None:
    global producer  # noqa: PLW0603
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
        taken = await consumer.getmany(timeout_ms=100, max_records=500)
        records = [record for each in taken.values() for record in each]
        await asyncio.gather(*map(handle, records))
        if records:
            await consumer.commit()


asyncio.run(main())
