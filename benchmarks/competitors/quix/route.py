"""Quix Streams: one dataframe, expanded to an element per action, each to that action's topic.

Values go through as bytes, so that nothing is encoded again. Everything else is as Quix has it by default, the commit
every 5 seconds too.
"""

import job
import orjson
from quixstreams import Application

app = Application(
    broker_address=job.BOOTSTRAP,
    consumer_group=job.GROUP,
    auto_offset_reset="earliest",
    processing_guarantee=job.GUARANTEE,
    auto_create_topics=False,
    loglevel="ERROR",
)
source = app.topic(job.SOURCE, value_deserializer="bytes")
sinks = {action: app.topic(topic, value_serializer="bytes") for action, topic in job.TOPICS.items()}


def matches(value: bytes) -> list[tuple[str, bytes]]:
    return [(action, value) for action in job.match(orjson.loads(value))]


dataframe = app.dataframe(source).apply(matches, expand=True)
for action, sink in sinks.items():
    dataframe[dataframe.apply(lambda pair, action=action: pair[0] == action)].apply(lambda pair: pair[1]).to_topic(sink)
app.run()
