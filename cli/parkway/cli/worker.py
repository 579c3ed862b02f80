"""`parkway worker`: runs an agent's actions."""

import asyncio
from typing import Annotated

import typer

from parkway.agents.agent import definition_of
from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.cli.options import (
    AgentSource,
    Bootstrap,
    HttpPort,
    InstanceName,
    KafkaSettings,
    LogFormat,
    LogLevel,
    Namespace,
    make_settings,
)
from parkway.runtime import tracing
from parkway.runtime.clients import admin_client
from parkway.runtime.foreign_topics import check_sinks
from parkway.runtime.garbage import calm_collector
from parkway.runtime.instance import take_instance
from parkway.runtime.logs import configure_logs, get_logger
from parkway.runtime.plan_log import read_plans
from parkway.runtime.plan_mark import plans_in_force
from parkway.runtime.settings import Settings
from parkway.runtime.telemetry import start_telemetry
from parkway.runtime.topology import check_topics, cluster
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan
from parkway.workers.fleet import chosen_actions
from parkway.workers.process import run_worker
from parkway.workers.spans import trace_models

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    agent: AgentSource,
    action: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this action, as often as needed; default: all.")
    ] = None,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    instance: InstanceName = None,
    kafka: KafkaSettings = None,
    concurrency: Annotated[int | None, typer.Option(help="Running handlers per action; default 100.")] = None,
    log_format: LogFormat = None,
    log_level: LogLevel = None,
    http_port: HttpPort = None,
    beside_router: Annotated[bool, typer.Option("--beside-router", hidden=True)] = False,
) -> None:
    """Run the agent's actions: one consumer each, in one process.

    SIGTERM takes nothing new, gives running handlers their drain time, commits and leaves; a second one stops
    at once.

    For example:

      parkway worker support:Support

      parkway worker support:Support --action chat --concurrency 50 --http-port 8081
    """
    settings = make_settings(
        kafka,
        bootstrap_servers=bootstrap_servers,
        namespace=namespace,
        instance=instance,
        concurrency=concurrency,
        log_format=log_format,
        log_level=log_level,
        http_port=http_port,
    )
    configure_logs(settings.log_format, settings.log_level, capture_content=settings.capture_content)
    loaded = load_agent(agent)
    plan = build_plan(loaded, agent)
    names = action or []
    if any(one.name == "chat" for one in chosen_actions(plan, names)):
        for model in definition_of(loaded).chat_models.values():
            model.check()
    admin = admin_client(settings, f"{settings.namespace}.worker")
    way_out = f"parkway plan build {agent} > plan.json && parkway topics apply --plan plan.json"
    cluster(admin, settings.bootstrap_servers, settings.start_timeout)
    partitions = check_topics(admin, settings.bootstrap_servers, settings.topics, plan, way_out)
    check_sinks(admin, settings.bootstrap_servers, settings.topics, plan)
    if not beside_router:  # `parkway dev` starts one with this plan, after that of the last time
        _compare_with_routers(settings, plan, partitions)
    with take_instance(settings.namespace, "worker", settings.instance) as held:
        health = start_telemetry(settings, tracing.WORKER, held.name, plan)
        trace_models(capture_content=settings.capture_content)
        calm_collector()
        asyncio.run(run_worker(settings, plan, loaded, names, held, health))


def _compare_with_routers(settings: Settings, plan: Plan, partitions: int) -> None:
    """Say so when routers match by another plan than this code has, but for actions that are retired there."""
    others = plans_in_force(settings, f"{settings.namespace}.worker", range(partitions)) - {plan.build}
    if not others:
        return
    published = _newest_plan(settings)
    if published is not None and plan.without(published.retired).build == published.without(published.retired).build:
        others -= {published.build}
    if others:
        get_logger("worker").warning(
            "plan_differs_from_routers",
            mine=plan.build,
            routers=sorted(others),
            consequence="routers match by another plan than this code has: build it and put it in force "
            "(`parkway plan apply`), or restart routers that have theirs from a file",
        )


def _newest_plan(settings: Settings) -> Plan | None:
    client_id = f"{settings.namespace}.worker"
    try:
        found, _ = read_plans(settings, admin_client(settings, client_id), client_id)
    except ParkwayError:  # no plan topic: the routers have theirs from a file
        return None
    return next((one.plan for one in reversed(found) if one.plan is not None), None)
