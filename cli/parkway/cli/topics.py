"""`parkway topics`: the only command (beside `dev`) that creates topics."""

import json
from pathlib import Path
from typing import Annotated

import typer

from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, PlanFile, make_settings, read_plan
from parkway.cli.plan_change import plan_in_force
from parkway.cli.topics_grow import grow
from parkway.runtime.clients import admin_client
from parkway.runtime.plan_log import read_plans
from parkway.runtime.topic_differences import topic_differences
from parkway.runtime.topology import apply_topics
from parkway.schemas.plan import PlanError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Topics of an installation.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def _topics() -> None:
    """Keep the words below words of their own."""


@app.command("apply")
def apply(
    plan: PlanFile = Path("plan.json"),
    partitions: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Of every topic; default: what `requests` has, or 12."),
    ] = None,
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Create the topics that the plan uses and that are missing; say what differs. It alters and deletes nothing.

    So it asks nothing, at a terminal as in a script. `parkway topics diff` says beforehand what it would do.

    For example:

      parkway topics apply --plan plan.json --partitions 12
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    admin = admin_client(settings, f"{settings.namespace}.topics")
    applied = apply_topics(admin, settings.bootstrap_servers, settings.topics, read_plan(plan), partitions)
    if as_json:
        total = {"topics": applied.topics, "partitions": applied.partitions, "replication": applied.replication}
        typer.echo(json.dumps({"created": applied.created, "differences": applied.differences, **total}))
        return
    for name in applied.created:
        typer.echo(f"created  {name}")
    for difference in applied.differences:
        typer.echo(f"note     {difference}")
    typer.echo(
        f"{applied.topics} topics x {applied.partitions} partitions = {applied.total} partitions (plans: 1), "
        f"{applied.total * applied.replication} replicas; created {len(applied.created)}"
    )


@app.command("diff")
def difference(
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="The plan; default: the plan in force.")
    ] = None,
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Say where the topics differ from what a plan wants. Exit 0: nowhere; 1: somewhere.

    What is missing `topics apply` creates; partition counts `topics grow` mends; settings you change with
    kafka-configs.

    For example:

      parkway topics diff --plan plan.json
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    admin = admin_client(settings, f"{settings.namespace}.topics")
    if plan is not None:
        wanted = read_plan(plan)
    else:
        current = plan_in_force(read_plans(settings, admin, f"{settings.namespace}.topics")[0])
        if current is None or current.plan is None:
            raise PlanError(
                f"no plan in {settings.topics.plans}: give --plan FILE, or run `parkway plan apply plan.json`"
            )
        wanted = current.plan
    found = topic_differences(admin, settings.bootstrap_servers, settings.topics, wanted)
    if as_json:
        typer.echo(json.dumps([one.to_json() for one in found]))
    else:
        for one in found:
            typer.echo(str(one))
    if found:
        raise typer.Exit(1)


app.command("grow")(grow)
