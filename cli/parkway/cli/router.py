"""`parkway router`: the routing service. It never imports user code."""

import os
import signal
from pathlib import Path

import typer

from parkway.cli.options import (
    Bootstrap,
    InstanceName,
    KafkaSettings,
    LogFormat,
    LogLevel,
    MetricsPort,
    Namespace,
    PlanFile,
    make_settings,
    read_plan,
)
from parkway.router.routing import Routing
from parkway.router.service import Router
from parkway.runtime.clients import admin_client
from parkway.runtime.codec import event_codec
from parkway.runtime.instance import take_instance
from parkway.runtime.logs import configure_logs
from parkway.runtime.membership import wait_for_dead_members
from parkway.runtime.metrics import serve_metrics
from parkway.runtime.topology import check_topics

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def run(
    plan: PlanFile = Path("plan.json"),
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    instance: InstanceName = None,
    kafka: KafkaSettings = None,
    log_format: LogFormat = None,
    log_level: LogLevel = None,
    metrics_port: MetricsPort = None,
) -> None:
    """Match events against the plan's triggers and publish them to the topics of the actions.

    Start as many as there are partitions, at most. SIGTERM finishes the batch in hand and leaves.
    """
    settings = make_settings(
        kafka,
        bootstrap_servers=bootstrap_servers,
        namespace=namespace,
        instance=instance,
        log_format=log_format,
        log_level=log_level,
        metrics_port=metrics_port,
    )
    configure_logs(settings.log_format, settings.log_level)
    the_plan = read_plan(plan)
    routing = Routing(the_plan, settings.topics, event_codec(settings))
    held = take_instance(settings.namespace, "router", settings.instance)
    client_id = f"{settings.namespace}.router.{held.name}"
    admin = admin_client(settings, client_id)
    way_out = f"parkway topics apply --plan {plan}"
    check_topics(admin, settings.bootstrap_servers, settings.topics, the_plan, way_out)
    with held:
        if not held.predecessor_died:
            wait_for_dead_members(admin, settings.topics.router_group, client_id, settings.session_timeout)
        serve_metrics(settings.metrics_port)
        router = Router(settings, routing, held.name)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: _stop(router))
        router.run()


def _stop(router: Router) -> None:
    if router.stopping:
        os._exit(1)  # a second signal: its threads may wait for a broker that is gone
    router.stop()
