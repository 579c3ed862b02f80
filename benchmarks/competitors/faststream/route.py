"""FastStream on confluent-kafka: one subscriber that publishes to each action's topic.

`ack`: the offset is committed after the handler (at least once). `ack_first`: FastStream's default, offsets are
committed while handlers run (at most once).
"""

import asyncio

import job
import orjson
from faststream import AckPolicy, FastStream
from faststream.confluent import KafkaBroker, KafkaMessage

broker = KafkaBroker(job.BOOTSTRAP, logger=None)
app = FastStream(broker, logger=None)


@broker.subscriber(
    job.SOURCE, group_id=job.GROUP, auto_offset_reset="earliest", ack_policy=AckPolicy(job.GUARANTEE), decoder=None
)
async def route(message: KafkaMessage) -> None:
    for action in job.match(orjson.loads(message.body)):
        await broker.publish(message.body, topic=job.TOPICS[action], key=message.raw_message.key())


asyncio.run(app.run())
