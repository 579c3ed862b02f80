"""`parkway topics`: the only command (beside `dev`) that creates topics."""

from pathlib import Path
from typing import Annotated

import typer

from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, PlanFile, make_settings, read_plan
from parkway.runtime.clients import admin_client
from parkway.runtime.topology import apply_topics

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Topics of an installation.")


@app.callback()
def _topics() -> None:
    """Keep `apply` a word of its own."""


@app.command("apply")
def apply(
    plan: PlanFile = Path("plan.json"),
    partitions: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Of every topic; default: what `requests` has, or 12."),
    ] = None,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Create the topics that the plan uses and that are missing; say what differs."""
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    admin = admin_client(settings, f"{settings.namespace}.topics")
    applied = apply_topics(admin, settings.bootstrap_servers, settings.topics, read_plan(plan), partitions)
    for name in applied.created:
        typer.echo(f"created  {name}")
    for difference in applied.differences:
        typer.echo(f"note     {difference}")
    typer.echo(
        f"{applied.topics} topics x {applied.partitions} partitions = {applied.total} partitions (plans: 1), "
        f"{applied.total * applied.replication} replicas; created {len(applied.created)}"
    )
