"""`parkway doctor`: what is wrong with this Kafka, this installation, this principal, and how to mend it."""

from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Annotated

import typer
from confluent_kafka import KafkaException, libversion
from confluent_kafka.admin import AdminClient
from rich.console import Console
from rich.text import Text

from parkway.cli.ask import confirm
from parkway.cli.doctor_cluster import check_broker_settings, check_brokers, check_partitions, check_retention
from parkway.cli.doctor_groups import check_groups
from parkway.cli.doctor_installation import (
    check_clock,
    check_marks,
    check_plan_file,
    check_rights,
    check_topics,
    check_transactions,
    current_plan,
)
from parkway.cli.doctor_probe import run_probes
from parkway.cli.findings import Finding, Level, ok, unknown, wrong
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings, read_plan
from parkway.cli.shown import json_text
from parkway.runtime.clients import admin_client
from parkway.runtime.settings import Settings
from parkway.runtime.topology import cluster
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_STYLES = {Level.OK: "green", Level.UNKNOWN: "dim", Level.WARNING: "yellow", Level.WRONG: "bold red"}


@app.command()
def run(
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare this plan with the one in force; use it if none is.")
    ] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Try whether this Kafka keeps what Parkway relies on: creates topics.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings make exit 1, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before --probe creates topics.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one finding a line.")] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Look at brokers, topics, rights, plan, groups and clocks; say what is wrong and how to mend it.

    It changes nothing. With --probe it creates topics and groups named <ns>.probe-..., tries the rules that
    exactly-once depends on, and deletes them: for a new cluster, a managed service, or what only calls itself Kafka.

    Exit 1 when something is wrong (with --strict: or doubtful), 2 when no broker answers.

    For example:

      parkway doctor

      parkway doctor --plan plan.json --probe --yes --json | jq 'select(.level == "wrong")'
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    given = read_plan(plan) if plan is not None else None
    admin = admin_client(settings, f"{settings.namespace}.doctor")
    cluster(admin, settings.bootstrap_servers)
    if probe and not yes:
        confirm(f"Create topics {settings.namespace}.probe-..., and delete them again?")
    counts: Counter[Level] = Counter()
    for finding in _findings(settings, admin, given, probe=probe):
        counts[finding.level] += 1
        _say(finding, as_json=as_json)
    if not as_json:
        typer.echo(f"{counts[Level.WRONG]} wrong, {counts[Level.WARNING]} doubtful, {counts[Level.OK]} fine", err=True)
    if counts[Level.WRONG] or (strict and counts[Level.WARNING]):
        raise typer.Exit(1)


def _findings(settings: Settings, admin: AdminClient, given: Plan | None, *, probe: bool) -> Iterator[Finding]:
    libraries = f"librdkafka {libversion()[0]}, confluent-kafka {version('confluent-kafka')}, Python {python_version()}"
    yield ok("versions", f"parkway {version('parkway')}, {libraries}")
    metadata = cluster(admin, settings.bootstrap_servers)
    yield from check_brokers(metadata)
    yield from _tried("settings", lambda: check_broker_settings(admin, settings, metadata))
    topics = settings.topics
    ours = [name for name in metadata.topics if topics.is_ours(name)]
    if topics.requests not in ours:
        mend = "`parkway topics apply --plan plan.json`, or another --namespace"
        yield wrong("topics", f"there is no {topics.requests}: nothing is installed as {settings.namespace}", mend)
    else:
        yield from _installation(settings, admin, given, ours)
    if probe:
        yield from run_probes(settings, admin)


def _installation(settings: Settings, admin: AdminClient, given: Plan | None, ours: list[str]) -> Iterator[Finding]:
    metadata = cluster(admin, settings.bootstrap_servers)
    yield from check_partitions(metadata, ours)
    yield from _tried("settings", lambda: check_retention(admin, metadata, ours))
    current, said = current_plan(settings, admin)
    yield from said
    if given is not None:
        yield from check_plan_file(given, current)
    plan = current or given
    if plan is not None:
        yield from _tried("topics", lambda: check_topics(settings, admin, plan))
        yield from _tried("rights", lambda: check_rights(settings, admin, plan, metadata.topics))
        yield from _tried("plan", lambda: check_marks(settings, admin, plan))
        yield from _tried("groups", lambda: check_groups(settings, admin, plan))
    yield from _tried("groups", lambda: check_transactions(settings, admin, metadata))
    yield from _tried("clock", lambda: check_clock(settings, admin, metadata))


def _tried(area: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """A check that cannot be made is a finding, and stops no other."""
    try:
        yield from check()
    except ParkwayError as error:
        yield unknown(area, str(error))
    except KafkaException as failure:
        yield unknown(area, failure.args[0].str())


def _say(finding: Finding, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text(finding.to_json()))
        return
    console = Console(soft_wrap=True, highlight=False)
    console.print(Text(f"{finding.level.value:<8}", _STYLES[finding.level]), Text(f"{finding.area:<9} {finding.text}"))
    if finding.mend is not None and finding.level is not Level.OK:
        console.print(Text(f"{'':<19}-> {finding.mend}"))
