"""`parkway request show`: where a request is, and what to do next."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer
from confluent_kafka.admin import AdminClient

from parkway.cli.dlq_topic import DlqTopic
from parkway.cli.durations import parse_duration
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.parked_topic import parked_messages
from parkway.cli.plan_topics import topics_of_plan
from parkway.cli.request_state import Groups, Story, story_of
from parkway.cli.scan import ago, chosen_partitions, held_back
from parkway.cli.shown import json_text, one_line
from parkway.cli.sightings import Found, live_parked, look_for
from parkway.runtime.clients import admin_client
from parkway.runtime.codec import event_codec
from parkway.runtime.log_reader import Place
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, cluster

_QUIET = ("journal", "state", "plans", "parked")


def show(
    request_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the request, or of any event.")],
    partition: Annotated[int | None, typer.Option(min=0, help="Its partition, if you know it.")] = None,
    key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Its record key: one partition or two are read.")
    ] = None,
    since: Annotated[str, typer.Option(metavar="TIME", help="Look at what was written since: 10m, 2h, 1d.")] = "1d",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Say where a request is: queued, running (on which instance), parked (for what), ended or in the DLQ.

    And what to do next. It reads the topics from --since on, of one partition if you give --key or --partition. An
    event of your own types can be looked for, too: each action that it fired has a line.

    Exit 1 when nothing is found, when it failed or is in the DLQ.

    For example:

      parkway request show order-4711 --key Ann

      parkway request show order-4711 --since 2h --json | jq -r .state
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    seconds = parse_duration(since, "--since")
    admin = admin_client(settings, f"{settings.namespace}.request")
    places = _places(settings, admin, partition, key)
    topics = settings.topics
    groups = Groups(settings, admin)
    groups.ask(topics, places)
    found = look_for(settings, admin, event_codec(settings), places, ago(seconds), request_id)
    if topics.parked in cluster(admin, settings.bootstrap_servers).topics:
        found.parked = live_parked(parked_messages(admin, settings), request_id)
    story = story_of(request_id, found, groups, topics, _put_back(settings, admin, found))
    if story is None:
        where = (
            f"partition {partition}"
            if partition is not None
            else f"key {key!r}"
            if key is not None
            else "any partition"
        )
        typer.echo(
            f"error: {request_id!r} stands in no record of {where} since {since} ago; "
            "is the namespace right? look further back with --since 7d",
            err=True,
        )
        held = held_back(admin, places)
        if held:
            shown = ", ".join(f"{topic}/{number}" for topic, number in held[:5])
            typer.echo(f"an open transaction holds back what is newer in {shown}: `parkway doctor`", err=True)
        raise typer.Exit(1)
    if as_json:
        typer.echo(json_text(asdict(story)))
    else:
        _print(story)
    if story.state in {"failed", "dead"}:
        raise typer.Exit(1)


def _places(settings: Settings, admin: AdminClient, partition: int | None, key: str | None) -> list[Place]:
    """Everything of the installation that events flow through, and what else the plan reads or answers to."""
    topics = settings.topics
    existing = cluster(admin, settings.bootstrap_servers).topics
    if topics.requests not in existing:
        raise TopologyError(f"missing topic {topics.requests}: is --namespace {settings.namespace} right?")
    there = sorted(existing[topics.requests].partitions)
    numbers = chosen_partitions(partition, key, there, topics.requests)
    quiet = {f"{settings.namespace}.{name}" for name in _QUIET}
    theirs = topics_of_plan(settings, admin)
    names = [name for name in existing if topics.is_ours(name) and name not in quiet]
    names += [name for name in theirs.replies if name in existing]
    places = [(name, number) for name in sorted(names) for number in numbers if number in existing[name].partitions]
    for name in theirs.sources:
        if name in existing:  # partition s goes to s mod P
            places += [(name, number) for number in existing[name].partitions if number % len(there) in numbers]
    return places


def _put_back(settings: Settings, admin: AdminClient, found: Found) -> list[str]:
    """Places of the dead letters that a replay has put back."""
    if not found.dead:
        return []
    topic = DlqTopic(settings, admin, since=min(one.written for one in found.dead))
    topic.read_markers()
    return [one.place for one in found.dead if (one.partition, one.offset) in topic.replayed]


def _print(story: Story) -> None:
    typer.echo(one_line(f"{story.id}  {story.type}: {story.state.replace('_', ' ')}"))
    for step in sorted(story.steps, key=lambda one: one.when or 0):
        typer.echo(one_line(f"  {_time(step.when)}  {step.text}" + (f"  ({step.place})" if step.place else "")))
    hints = dict.fromkeys(step.next for step in story.steps if step.next and step.state == story.state)
    for hint in hints:
        typer.echo(one_line(f"next: {hint}"))


def _time(milliseconds: int | None) -> str:
    if milliseconds is None:
        return " " * 24
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
