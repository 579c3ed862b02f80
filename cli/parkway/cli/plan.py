"""`parkway plan`: from code to the plan in force, and what routers make of it."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka.admin import AdminClient

from parkway.agents.agent import definition_of
from parkway.agents.build import build_plan
from parkway.agents.decision_lint import decision_warnings
from parkway.agents.declarative import document_schema
from parkway.agents.load import load_agent
from parkway.cli.options import (
    AgentSource,
    Bootstrap,
    KafkaSettings,
    Namespace,
    PlanArgument,
    make_settings,
    read_plan,
)
from parkway.cli.plan_apply import apply
from parkway.cli.plan_change import marks, plan_in_force
from parkway.cli.shown import json_text
from parkway.router.cel.lint import lint
from parkway.router.plan_diff import diff, sink_line, source_line
from parkway.runtime.clients import admin_client
from parkway.runtime.plan_log import Published, read_plans
from parkway.runtime.settings import Settings
from parkway.schemas.plan import Plan, PlanError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Plans: what a router needs to know of an agent.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("build")
def build(agent: AgentSource) -> None:
    """Import the agent, check every trigger, and print its plan.

    Needs no broker, no secret and no network.

    For example:

      parkway plan build support:Support > plan.json
    """
    loaded = load_agent(agent)
    plan = build_plan(loaded, agent)
    warnings = lint([(action.name, action.triggers) for action in plan.actions])
    for warning in [*warnings, *decision_warnings(definition_of(loaded))]:
        typer.echo(f"warning: {warning}", err=True)
    sys.stdout.buffer.write(plan.to_json())


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of agents in YAML, for editors that check and complete them.

    For example:

      parkway plan schema > agent.schema.json
    """
    typer.echo(json.dumps(document_schema(), indent=2))


app.command("apply")(apply)


@app.command("diff")
def difference(
    plan: PlanArgument = Path("plan.json"),
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Say what a plan would change. Exit 0: nothing; 1: something.

    For example:

      parkway plan diff plan.json --json
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    new = read_plan(plan).with_build()
    admin = admin_client(settings, f"{settings.namespace}.plan")
    found, _ = read_plans(settings, admin, f"{settings.namespace}.plan")
    current = plan_in_force(found)
    changes = diff(current.plan if current is not None else None, new)
    if as_json:
        typer.echo(json_text(changes.to_json(), indent=2))
    else:
        for line in changes.lines():
            typer.echo(line)
    if changes:
        raise typer.Exit(1)


@app.command("show")
def show(
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan itself, as `plan apply` takes it.")] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Show the plan in force, and which plan the routers run.

    For example:

      parkway plan show

      parkway plan show --json > plan.json
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    admin = admin_client(settings, f"{settings.namespace}.plan")
    found, _ = read_plans(settings, admin, f"{settings.namespace}.plan")
    current = plan_in_force(found)
    if current is None or current.plan is None:
        raise PlanError(f"no plan in {settings.topics.plans}: run `parkway plan apply plan.json`")
    if as_json:
        sys.stdout.buffer.write(current.plan.to_json())
        return
    for line in _refused(found, current):
        typer.echo(line, err=True)
    _show_plan(current.plan)
    _show_routers(settings, admin, current.plan)


def _refused(found: list[Published], current: Published) -> list[str]:
    newer = [one for one in found if one.offset > current.offset]
    return [f"warning: offset {one.offset} holds no plan: {one.problem or 'its triggers do not load'}" for one in newer]


def _show_plan(plan: Plan) -> None:
    typer.echo(f"plan     {plan.build} of {plan.agent}")
    for action in plan.actions:
        marked = " (retired: continuations only)" if action.retired else ""
        typer.echo(f"action   {action.name}{marked}")
        for trigger in action.triggers:
            typer.echo(f"           {trigger}")
    typer.echo(f"accepts  {', '.join(plan.accepts)}")
    for source in plan.sources:
        typer.echo(f"source   {source_line(source)}")
    for sink in plan.sinks:
        typer.echo(f"sink     {sink_line(sink)}")
    typer.echo(f"policies on_trigger_error {plan.on_trigger_error}, hop_limit {plan.hop_limit}")


def _show_routers(settings: Settings, admin: AdminClient, plan: Plan) -> None:
    shown = marks(settings, admin, plan)
    if shown is None:
        typer.echo("routers  no stable answer about their offsets now: ask again")
        return
    by_topic: dict[str, dict[int, str | None]] = {}
    for (topic, partition), one in shown.items():
        by_topic.setdefault(topic, {})[partition] = one
    for topic, builds in by_topic.items():
        for line in _by_build(topic, builds, plan.build):
            typer.echo(line)


def _by_build(topic: str, builds: dict[int, str | None], in_force: str) -> list[str]:
    lines = []
    for one in Counter(builds.values()):
        partitions = ", ".join(str(partition) for partition, found in builds.items() if found == one)
        said = "no router has committed here yet" if one is None else one
        note = "" if one in {None, in_force} else "  <- not the plan in force"
        lines.append(f"routers  {topic} {partitions}: {said}{note}")
    return lines
