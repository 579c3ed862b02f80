"""FastStream on confluent-kafka: a subscriber that acknowledges each record after its handler.

The handler does nothing, or (`echo`) publishes one record.
"""

import asyncio
from typing import Any

import job
from faststream import AckPolicy, FastStream
from faststream.confluent import KafkaBroker, KafkaMessage

broker = KafkaBroker(job.BOOTSTRAP, logger=None)
app = FastStream(broker, logger=None)


@broker.subscriber(job.SOURCE, group_id=job.GROUP, auto_offset_reset="earliest", ack_policy=AckPolicy.ACK)
async def handle(event: dict[str, Any], message: KafkaMessage) -> None:
    if job.ECHO:
        await broker.publish(event["attributes"], topic=job.OUTPUTS, key=message.raw_message.key())


asyncio.run(app.run())
