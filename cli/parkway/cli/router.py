"""`parkway router`: the routing service. It never imports user code."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, Final

import typer

from parkway.cli.options import (
    Bootstrap,
    HttpPort,
    InstanceName,
    KafkaSettings,
    LogFormat,
    LogLevel,
    Namespace,
    make_settings,
    read_plan,
)
from parkway.router.plan_watch import PlanLoader, PlanWatcher
from parkway.router.service import Router, no_updates
from parkway.runtime import tracing
from parkway.runtime.clients import admin_client
from parkway.runtime.codec import event_codec
from parkway.runtime.garbage import calm_collector
from parkway.runtime.instance import take_instance
from parkway.runtime.logs import configure_logs, get_logger
from parkway.runtime.membership import wait_for_dead_members
from parkway.runtime.telemetry import start_telemetry
from parkway.runtime.topology import cluster

_LEAVE: Final = 12.0  # seconds after the drain budget, as a worker has: should the broker be away

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A plan file; default: the plan in force (`parkway plan apply`), as it changes."
        ),
    ] = None,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    instance: InstanceName = None,
    kafka: KafkaSettings = None,
    log_format: LogFormat = None,
    log_level: LogLevel = None,
    http_port: HttpPort = None,
) -> None:
    """Match events against the plan's triggers and publish them to the topics of the actions.

    Without --plan it takes the plan in force, and each one that follows it between two batches.
    Start as many as there are partitions, at most. SIGTERM finishes the batch in hand and leaves.

    For example:

      parkway router --http-port 8080

      parkway router --plan plan.json --instance router-1
    """
    settings = make_settings(
        kafka,
        bootstrap_servers=bootstrap_servers,
        namespace=namespace,
        instance=instance,
        log_format=log_format,
        log_level=log_level,
        http_port=http_port,
    )
    configure_logs(settings.log_format, settings.log_level, capture_content=settings.capture_content)
    given = read_plan(plan) if plan is not None else None
    codec = event_codec(settings)
    held = take_instance(settings.namespace, "router", settings.instance)
    client_id = f"{settings.namespace}.router.{held.name}"
    admin = admin_client(settings, client_id)
    cluster(admin, settings.bootstrap_servers, settings.start_timeout)
    loader = PlanLoader(settings, admin, codec)
    watcher = None
    if given is not None:
        routing = loader.load(given, f"parkway topics apply --plan {plan}")
    else:
        routing, offset = loader.load_newest(f"{client_id}.plans")
        watcher = PlanWatcher(loader, f"{client_id}.plans", routing.plan, offset)
    with held:
        health = start_telemetry(settings, tracing.ROUTER, held.name, routing.plan)
        if not held.predecessor_died:
            wait_for_dead_members(settings, settings.topics.router_group, client_id)
        router = Router(settings, routing, held.name, watcher.updates if watcher is not None else no_updates)
        router.register(health)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: _stop(router, settings.drain + _LEAVE))
        if watcher is not None:
            health.warn("plan", lambda: watcher.problem)
            watcher.start()
        health.started()
        calm_collector()
        try:
            router.run()
        finally:
            if watcher is not None:
                watcher.stop()
                watcher.join(5)  # it may ask a broker that is gone
        tracing.end_tracing()


def _stop(router: Router, seconds: float) -> None:
    if router.stopping:
        os._exit(1)  # a second signal: its threads may wait for a broker that is gone
    router.stop()
    late = threading.Timer(seconds, _stop_anyhow, (seconds,))
    late.daemon = True
    late.start()


def _stop_anyhow(seconds: float) -> None:
    """What is not committed by then, because the broker is away, is taken again by somebody."""
    get_logger("router").error("not_drained_in_time", seconds=seconds, consequence="exit 1")
    sys.stderr.flush()
    os._exit(1)
