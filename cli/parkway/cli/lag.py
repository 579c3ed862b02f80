"""`parkway lag`: what is not done yet, for the routers and for each action."""

import json
import signal
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from parkway.cli.durations import duration, parse_duration
from parkway.cli.lag_numbers import LagReader, Waiting
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.plan_topics import topics_of_plan
from parkway.cli.progress import progress
from parkway.cli.tables import print_table
from parkway.runtime.clients import admin_client
from parkway.schemas.errors import ParkwayError
from parkway.schemas.topics import Topics

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_HEADER = ("NAME", "PARTITION", "NEW", "RESUME", "PARKED", "OLDEST", "RUNS ON")


@app.command()
def run(
    action: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this action; may be given again.")
    ] = None,
    by_partition: Annotated[bool, typer.Option("--by-partition", "-p", help="A line for each partition, too.")] = False,
    fail_above: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Exit 1 when the routers or an action are further behind.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Again and again, until Ctrl-C.")] = False,
    every: Annotated[str, typer.Option(metavar="TIME", help="How often, with --watch.")] = "2s",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Show how many records routers and workers have not completed, what is parked, and who works on it.

    NEW and RESUME (continuations) count records that are not completed, by the workers' own maps: Kafka's own lag of
    the group counts from the oldest one. Beyond 20,000 that nobody has taken yet it counts offsets: then (~) each
    transaction counts, too. OLDEST: how long the oldest of them has been waiting or running. RUNS ON: the instances
    in the group.

    For example:

      parkway lag --watch

      parkway lag --action chat --by-partition

      parkway lag --fail-above 10000 --json
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    seconds = max(0.2, parse_duration(every, "--every"))
    admin = admin_client(settings, f"{settings.namespace}.lag")
    reader = LagReader(settings, admin, topics_of_plan(settings, admin).sources)
    _check(action or [], reader.actions)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        while True:
            found = _chosen(_read(reader), action or [])
            if watch and not as_json and Console().is_terminal:
                _watch(reader, found, action or [], seconds, settings.topics, by_partition=by_partition)
                return
            _say(found, settings.topics, as_json=as_json, by_partition=by_partition)
            if not watch:
                break
            time.sleep(seconds)
    except KeyboardInterrupt:
        return
    if fail_above is not None and any(one.total() > fail_above for one in found):
        raise typer.Exit(1)


def _check(asked: Sequence[str], there: Sequence[str]) -> None:
    for name in asked:
        if name not in there:
            raise ParkwayError(f"--action {name!r}: there are {', '.join(there)}")


def _read(reader: LagReader) -> list[Waiting]:
    if reader.parked is not None:
        with progress("parked", reader.parked.left()) as advance:
            reader.parked.update(advance)
    return reader.read()


def _chosen(found: list[Waiting], actions: Sequence[str]) -> list[Waiting]:
    return [one for one in found if not actions or one.name in actions]


def _watch(
    reader: LagReader,
    found: list[Waiting],
    actions: Sequence[str],
    seconds: float,
    topics: Topics,
    *,
    by_partition: bool,
) -> None:
    with Live(_table(_rows(found, topics, by_partition=by_partition)), auto_refresh=False) as live:
        while True:
            time.sleep(seconds)
            if reader.parked is not None:
                reader.parked.left()
                reader.parked.update()
            found = _chosen(reader.read(), actions)
            live.update(_table(_rows(found, topics, by_partition=by_partition)), refresh=True)


def _table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in _HEADER:
        table.add_column(name, justify="right" if name in {"NEW", "RESUME", "PARKED", "OLDEST"} else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _say(found: list[Waiting], topics: Topics, *, as_json: bool, by_partition: bool) -> None:
    if as_json:
        for one in found:
            typer.echo(json.dumps(_json(one, topics)))
        return
    print_table(_HEADER, _rows(found, topics, by_partition=by_partition), right=("NEW", "RESUME", "PARKED", "OLDEST"))


def _rows(found: list[Waiting], topics: Topics, *, by_partition: bool) -> list[tuple[str, ...]]:
    rows = []
    for one in found:
        rows.append(_row(one, topics, None, _who(one)))
        if by_partition:
            numbers = sorted({number for _, number in one.behind})
            rows += [_row(one, topics, number, _owner(one, number)) for number in numbers]
    return rows


def _row(one: Waiting, topics: Topics, partition: int | None, who: str) -> tuple[str, ...]:
    def count(*names: str) -> int:
        return sum(behind for (name, at), behind in one.behind.items() if name in names and partition in (None, at))

    oldest = one.oldest_of(partition)
    age = duration(max(0.0, time.time() - oldest / 1000)) if oldest is not None else "-"
    if one.name == "router":
        continuing, parked = topics.events, "-"
    else:
        continuing = topics.resume(one.name)
        parked = f"{sum(n for at, n in one.parked.items() if partition in (None, at)):,}"
    new = count(*{name for name, _ in one.behind} - {continuing})
    resume = f"{count(continuing):,}" if any(name == continuing for name, _ in one.behind) else "-"
    name = one.name if partition is None else ""
    about = "" if one.exact else "~"
    return (name, "-" if partition is None else str(partition), f"{about}{new:,}", resume, parked, age, who)


def _who(one: Waiting) -> str:
    if one.group is None:
        return "? (no right to describe the group)"
    members = sorted({member.instance for member in one.group.members})
    if not members:
        return "nobody" if one.total() or one.parked else "-"
    return ", ".join(members[:6]) + (f" and {len(members) - 6} more" if len(members) > 6 else "")


def _owner(one: Waiting, partition: int) -> str:
    if one.group is None:
        return "?"
    owners = {member.instance for place in one.behind if place[1] == partition if (member := one.group.owner(place))}
    return ", ".join(sorted(owners)) or "nobody"


def _json(one: Waiting, topics: Topics) -> dict[str, Any]:
    oldest = one.oldest_of()
    partitions: dict[int, dict[str, Any]] = {}
    for (topic, number), behind in sorted(one.behind.items()):
        row = partitions.setdefault(number, {"partition": number, "behind": {}, "oldest": None})
        row["behind"][topic] = behind
        row["oldest"] = one.oldest_of(number)
        if one.name != "router":
            row["parked"] = one.parked.get(number, 0)
        row["owner"] = _owner(one, number)
    return {
        "name": one.name,
        "kind": "router" if one.name == "router" else "action",
        "group": topics.router_group if one.name == "router" else topics.worker_group(one.name),
        "state": one.group.state if one.group is not None else None,
        "instances": sorted({member.instance for member in one.group.members}) if one.group is not None else None,
        "behind": one.total(),
        "exact": one.exact,
        "parked": sum(one.parked.values()),
        "oldest": oldest,
        "partitions": list(partitions.values()),
    }
