"""`parkway plan apply`: say what a plan changes, ask, and put it in force."""

from pathlib import Path
from typing import Annotated, Any

import typer

from parkway.cli.ask import confirm
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, PlanArgument, make_settings, read_plan
from parkway.cli.outcome import OutcomeAsJson, errors
from parkway.cli.plan_change import check_drops, compile_triggers, dropped_actions, losses, plan_in_force
from parkway.cli.shown import json_text
from parkway.router.plan_diff import diff
from parkway.runtime.clients import admin_client
from parkway.runtime.plan_log import publish_plan, read_plans
from parkway.runtime.settings import Settings
from parkway.runtime.topology import check_topics
from parkway.schemas.plan import Plan


def apply(
    plan: PlanArgument = Path("plan.json"),
    retire: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Keep this action for continuations only: no trigger fires it."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Drop actions that still have work, and lose it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: OutcomeAsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Put a plan in force: running routers take it within a second, between two batches.

    Its triggers must compile and its topics exist (`parkway topics apply`). An action of the plan in force is
    dropped in two steps: retire it, and leave it out once it has nothing left to do.

    For example:

      parkway plan apply plan.json

      parkway plan apply plan.json --retire old-action --yes --json
    """
    with errors(as_json=as_json, plan=str(plan)):
        settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
        outcome = _apply(settings, plan, retire or [], force=force, yes=yes, as_json=as_json)
    if as_json:
        typer.echo(json_text(outcome))


def _apply(
    settings: Settings, file: Path, retire: list[str], *, force: bool, yes: bool, as_json: bool
) -> dict[str, Any]:
    new = read_plan(file).with_build()
    compile_triggers(new)
    client = f"{settings.namespace}.plan"
    admin = admin_client(settings, client)
    found, end = read_plans(settings, admin, client)
    current = plan_in_force(found)
    old = current.plan if current is not None else None
    for name in retire:
        new = new.retire(name, old)
    check_topics(admin, settings.bootstrap_servers, settings.topics, new, f"parkway topics apply --plan {file}")
    changes = diff(old, new)
    builds = {"from": None if old is None else old.build, "to": new.build}
    if not changes and current is found[-1]:
        _say(f"plan {new.build} is in force already", as_json=as_json)
        return {**builds, "changes": changes.to_json(), "lost": [], "published": False}
    dropped = dropped_actions(old, new) if old is not None else []
    if old is not None and dropped and not force:
        check_drops(settings, admin, old, dropped)
    lost = list(losses(settings, admin, old, dropped)) if old is not None and dropped and force else []
    shown = [f"plan {_name(old)} -> {new.build}", *changes.lines(), *lost]
    for line in shown:
        _say(line, as_json=as_json and yes, err=as_json)
    if not yes:
        confirm("Put it in force?", err=as_json)
    offset = publish_plan(settings, client, new)
    _say(f"plan {new.build} is in force; `parkway plan show` says which routers have taken it", as_json=as_json)
    if offset != end:
        typer.echo("warning: somebody else published a plan meanwhile, and this one replaces it: look again", err=True)
    return {**builds, "changes": changes.to_json(), "lost": lost, "published": True}


def _name(plan: Plan | None) -> str:
    return "none" if plan is None else plan.build


def _say(text: str, *, as_json: bool, err: bool = False) -> None:
    if not as_json:
        typer.echo(text, err=err)
