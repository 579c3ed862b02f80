"""`parkway topics grow`: more partitions, while routers and workers run (DESIGN 3).

The order is what keeps records: a worker that gets a new partition of its action's topic finds everything that it
writes to there, a router that gets one of `events` or `requests` finds every action's. So what is written last in the
flow grows first, and `requests` last.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Final

import typer
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, TopicMetadata

from parkway.cli.ask import confirm
from parkway.cli.lag_numbers import LagReader
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.parked_topic import answered, ends_of
from parkway.cli.plan_topics import topics_of_plan
from parkway.runtime.clients import admin_client
from parkway.runtime.log_offsets import log_beginnings
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, cluster, wait_until_led

_MOST: Final = 10_000
_ORDER: Final = (
    "Order of a key holds across this only after a drain: a key may get another partition, and what it has in the old "
    "one is handled beside what comes in the new one. Where that matters stop the producers, wait until `parkway lag` "
    "shows 0, grow, and start them again. Partitions are never taken away."
)


def grow(
    partitions: Annotated[int, typer.Argument(min=1, max=_MOST, help="How many each topic is to have.")],
    forget_state: Annotated[
        bool, typer.Option("--forget-state", help="Go on although keys that move begin with an empty ctx.state.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Give all topics of the installation more partitions; downstream ones first, `requests` last.

    Routers and workers may run meanwhile and lose nothing; they take the new partitions within half a minute. What was
    interrupted goes on when it is run again. What is in flight stays in its partition. Order of a key holds across
    this only after a drain.

    For example:

      parkway topics grow 24
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    admin = admin_client(settings, f"{settings.namespace}.topics")
    steps = _steps(settings, admin, partitions)
    if not steps:
        typer.echo(json.dumps({"grown": {}}) if as_json else f"all topics have {partitions} partitions already")
        return
    if not forget_state and _has_state(settings, admin):
        raise TopologyError(
            f"{settings.topics.state} holds ctx.state, which stays in its partition: for keys that get another one it "
            "would be empty; give --forget-state if that does not matter, or move to another namespace"
        )
    if not yes:
        _explain(settings, admin, steps, partitions)
        confirm(f"Grow {len(steps)} topics to {partitions} partitions?")
    for name in steps:
        _grow(settings, admin, name, partitions)
        if not as_json:
            typer.echo(f"grown    {name}  {steps[name]} -> {partitions}")
    if as_json:
        typer.echo(json.dumps({"grown": steps, "partitions": partitions}))
    else:
        typer.echo("routers and workers take the new partitions within half a minute; producers when they look again")


def _steps(settings: Settings, admin: AdminClient, partitions: int) -> dict[str, int]:
    """Topic -> its partitions now, of those that are to grow, in their order. Raises TopologyError."""
    existing = cluster(admin, settings.bootstrap_servers).topics
    topics = settings.topics
    if topics.requests not in existing:
        raise TopologyError(f"missing topic {topics.requests}: is --namespace {settings.namespace} right?")
    ours = [name for name in existing if topics.is_ours(name) and name != topics.plans]
    ours += [name for name in topics_of_plan(settings, admin).replies if name in existing]
    larger = {name: len(existing[name].partitions) for name in ours if len(existing[name].partitions) > partitions}
    if larger:
        shown = ", ".join(f"{name} has {count}" for name, count in sorted(larger.items()))
        raise TopologyError(f"partitions are never taken away: {shown}; grow to {max(larger.values())} at least")
    last = [topics.events, topics.requests]
    actions = sorted(name for name in ours if name.startswith(topics.action("")))
    resumes = sorted(name for name in ours if name.startswith(topics.resume("")))
    first = sorted(set(ours) - {*last, *actions, *resumes})
    ordered = [*first, *resumes, *actions, *(name for name in last if name in ours)]
    return {name: _count(existing, name) for name in ordered if _count(existing, name) < partitions}


def _count(existing: Mapping[str, TopicMetadata], name: str) -> int:
    return len(existing[name].partitions)


def _has_state(settings: Settings, admin: AdminClient) -> bool:
    existing = cluster(admin, settings.bootstrap_servers).topics
    topic = settings.topics.state
    places = [(topic, number) for number in existing[topic].partitions] if topic in existing else []
    if not places:
        return False
    begins = answered(topic, lambda: log_beginnings(admin, places))
    return any(end > begins[place] for place, end in ends_of(admin, places).items())


def _explain(settings: Settings, admin: AdminClient, steps: Mapping[str, int], partitions: int) -> None:
    for name, count in steps.items():
        typer.echo(f"{name}  {count} -> {partitions}")
    waiting = sum(one.total() for one in LagReader(settings, admin).read())
    typer.echo(f"{waiting:,} records are not completed now." if waiting else "Everything is drained now.")
    typer.echo(_ORDER)


def _grow(settings: Settings, admin: AdminClient, name: str, partitions: int) -> None:
    """Wait until it is led: the next topic's records may go there."""
    try:
        admin.create_partitions([NewPartitions(name, partitions)], operation_timeout=30.0)[name].result()
    except KafkaException as failure:
        raise TopologyError(f"{name} cannot grow: {failure.args[0].str()}; run it again to go on") from None
    wait_until_led(admin, settings.bootstrap_servers, [name], partitions)
