"""`parkway plan`: from code to the plan that a router needs."""

import sys

import typer

from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.cli.options import AgentSource
from parkway.router.cel.lint import lint

app = typer.Typer(no_args_is_help=True, help="Plans: what a router needs to know of an agent.")


@app.callback()
def _plans() -> None:
    """Keep `build` a word of its own."""


@app.command("build")
def build(agent: AgentSource) -> None:
    """Import the agent, check every trigger, and print its plan.

    Needs no broker, no secret and no network.
    """
    plan = build_plan(load_agent(agent), agent)
    for warning in lint([(action.name, action.triggers) for action in plan.actions]):
        typer.echo(f"warning: {warning}", err=True)
    sys.stdout.buffer.write(plan.to_json())
