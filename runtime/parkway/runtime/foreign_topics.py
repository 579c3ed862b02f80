"""Topics of somebody else's that a plan names: sinks must be there before workers start, and `dev` creates them."""

from confluent_kafka.admin import AdminClient, NewTopic

from parkway.runtime.topology import TopologyError, cluster, wait_until_led
from parkway.schemas.plan import Plan
from parkway.schemas.topics import Topics


def check_sinks(admin: AdminClient, bootstrap: str, topics: Topics, plan: Plan) -> None:
    """Are the topics there that workers of this plan write to? Raises TopologyError that says the way out."""
    existing = cluster(admin, bootstrap).topics if plan.sinks else {}
    for sink in plan.sinks:
        if topics.is_ours(sink.topic):
            raise TopologyError(
                f"sink topic {sink.topic} is one of Parkway's own: a Sink writes a topic of somebody else's; "
                "outputs go to outputs without `to=`, events to actions with ctx.send"
            )
        if sink.topic not in existing:
            raise TopologyError(
                f"missing sink topic {sink.topic}: it is yours, so Parkway does not create it; create it "
                f"(kafka-topics --create --topic {sink.topic}), or take its Sink off the agent"
            )


def create_foreign(admin: AdminClient, bootstrap: str, topics: Topics, plan: Plan, partitions: int) -> list[str]:
    """Create those that are missing, for development: elsewhere they are not ours to create. Returns their names."""
    existing = cluster(admin, bootstrap).topics
    named = dict.fromkeys([*(source.topic for source in plan.sources), *(sink.topic for sink in plan.sinks)])
    missing = [name for name in named if name not in existing and not topics.is_ours(name)]
    for name in missing:
        admin.create_topics([NewTopic(name, num_partitions=partitions)])[name].result()
    wait_until_led(admin, bootstrap, missing, partitions)
    return missing
