"""`parkway trace`: what one event has caused, as a tree."""

import signal
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from confluent_kafka.admin import AdminClient
from rich.console import Console
from rich.live import Live
from rich.text import Text

from parkway.cli.durations import parse_duration
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.plan_topics import topics_of_plan
from parkway.cli.request_state import Groups
from parkway.cli.scan import ago, chosen_partitions
from parkway.cli.shown import json_text, one_line
from parkway.cli.sightings import Sighting
from parkway.cli.trace_read import RunReader, find_root, topics_of_runs
from parkway.cli.trace_tree import Node, Trace, as_json, build
from parkway.runtime.clients import admin_client
from parkway.runtime.codec import event_codec
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, cluster

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_EVERY: Final = 0.5


@app.command()
def run(
    root_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="Of the event from outside, or of any that it caused; or TOPIC/PARTITION/OFFSET."
        ),
    ],
    partition: Annotated[int | None, typer.Option(min=0, help="Its partition, if you know it.")] = None,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help="Its record key.")] = None,
    since: Annotated[str, typer.Option(metavar="TIME", help="It came in since: 10m, 2h, 1d.")] = "1d",
    content: Annotated[bool, typer.Option("--content", help="Show what was asked and answered, shortened.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until nothing of it runs any more.")] = False,
    output: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Show everything that an event has caused: actions, model calls, tool rounds, responses, outputs, dead letters.

    Once the event is found one partition is read, from its time on. Times count from the event; model and tool calls
    come from the journal, with how long they took and their tokens. Payloads of sinks are not shown.

    Exit 1 when nothing is found.

    For example:

      parkway trace order-4711 --key Ann

      parkway trace order-4711 --follow --content
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    seconds = parse_duration(since, "--since")
    admin = admin_client(settings, f"{settings.namespace}.trace")
    reader = _reader(settings, admin, root_id, partition, key, ago(seconds))
    if reader is None:
        typer.echo(
            f"error: nothing of {root_id!r} came in since {since} ago; look further back with --since 7d", err=True
        )
        raise typer.Exit(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        trace = _follow(settings, admin, reader, content=content, quiet=output) if follow else None
    except KeyboardInterrupt:
        return
    trace = trace or _look(settings, admin, reader, content=content)
    if output:
        typer.echo(json_text(as_json(trace)))
    elif not follow:
        for line in [*_lines(trace.root), _summary(trace)]:
            typer.echo(line)


def _reader(
    settings: Settings, admin: AdminClient, wanted: str, partition: int | None, key: str | None, since: int
) -> RunReader | None:
    existing = cluster(admin, settings.bootstrap_servers).topics
    topics = settings.topics
    if topics.requests not in existing:
        raise TopologyError(f"missing topic {topics.requests}: is --namespace {settings.namespace} right?")
    numbers = chosen_partitions(partition, key, sorted(existing[topics.requests].partitions), topics.requests)
    names = topics_of_runs(topics, list(existing))
    codec = event_codec(settings)
    places = [(name, number) for name in names if name != topics.journal for number in numbers]
    theirs = topics_of_plan(settings, admin)
    sources = [(name, number) for name in theirs.sources if name in existing for number in existing[name].partitions]
    root = find_root(settings, admin, codec, [*places, *sources], since, wanted)
    if root is None:
        return None
    names += [name for name in theirs.replies if name in existing]
    return RunReader(settings, admin, codec, root.in_partition(len(existing[topics.requests].partitions)), names)


def _look(settings: Settings, admin: AdminClient, reader: RunReader, *, content: bool) -> Trace:
    groups = Groups(settings, admin)
    groups.ask(settings.topics, reader.places)
    reader.update()

    def standing(one: Sighting) -> str:
        return groups.standing(settings.topics, one).value

    trace = build(reader.run, settings.topics, standing, content=content)
    trace.over &= not reader.held  # what a completed record has caused may stand behind the transaction of another
    return trace


def _follow(settings: Settings, admin: AdminClient, reader: RunReader, *, content: bool, quiet: bool) -> Trace:
    console = Console()
    if quiet or not console.is_terminal:
        return _follow_lines(settings, admin, reader, content=content, quiet=quiet)
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
        while True:
            trace = _look(settings, admin, reader, content=content)
            live.update(Text("\n".join([*_lines(trace.root), _summary(trace)])), refresh=True)
            if trace.over:
                return trace
            time.sleep(_EVERY)


def _follow_lines(settings: Settings, admin: AdminClient, reader: RunReader, *, content: bool, quiet: bool) -> Trace:
    """A line for whatever is new."""
    said: set[tuple[str, str | None, int, str]] = set()
    while True:
        trace = _look(settings, admin, reader, content=content)
        new = [(depth, node) for depth, node in trace.root.walk() if _name(node) not in said]
        for depth, node in new:
            said.add(_name(node))
            if not quiet:
                typer.echo("  " * depth + _line(node, trace.root.at))
        sys.stdout.flush()
        if trace.over:
            if not quiet:
                typer.echo(_summary(trace))
            return trace
        time.sleep(_EVERY)


def _name(node: Node) -> tuple[str, str | None, int, str]:
    return node.kind, node.place, node.at, node.name


def _lines(root: Node) -> list[str]:
    return [_line(root, root.at), *_below(root, root.at, "")]


def _below(node: Node, began: int, indent: str) -> Iterator[str]:
    for number, child in enumerate(node.children, 1):
        last = number == len(node.children)
        yield f"{indent}{'└─ ' if last else '├─ '}{_line(child, began)}"
        yield from _below(child, began, indent + ("   " if last else "│  "))


def _line(node: Node, began: int) -> str:
    when = _clock(node.at) if node.at == began and node.kind == "event" else f"+{_span(max(0, node.at - began))}"
    details = [when]
    if node.took is not None:
        details.append(f"took {_span(node.took)}")
    if node.tokens:
        details.append(f"{node.tokens.get('promptTokens', 0)}+{node.tokens.get('completionTokens', 0)} tokens")
    if node.bytes is not None:
        details.append(f"{node.bytes:,} B")
    if node.state not in {None, "done"}:
        details.append("queued" if node.state == "waiting" else "running, or next to")
    if node.place is not None and node.kind in {"dead", "event"} and (node.kind == "dead" or node.at == began):
        details.append(node.place)
    return one_line(f"{node.text}  [{', '.join(details)}]")


def _summary(trace: Trace) -> str:
    tokens = f", {trace.tokens.get('promptTokens', 0)}+{trace.tokens.get('completionTokens', 0)} tokens"
    state = "over" if trace.over else "not over"
    models = f"{trace.model_calls} model call{'s' if trace.model_calls != 1 else ''}{tokens if trace.tokens else ''}"
    tools = f"{trace.tool_calls} tool call{'s' if trace.tool_calls != 1 else ''}"
    return f"{state} after {_span(trace.took)}: {models}, {tools}"


def _span(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds // 60_000}m {milliseconds % 60_000 // 1000}s"


def _clock(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
