"""What a process shows of itself, set up in one call: log fields, traces, metrics and health over HTTP."""

from parkway.runtime import metrics
from parkway.runtime.health import Health
from parkway.runtime.http import serve_http
from parkway.runtime.logs import name_process
from parkway.runtime.settings import Settings
from parkway.runtime.tracing import configure_tracing
from parkway.schemas.plan import Plan


def start_telemetry(settings: Settings, service: str, instance: str, plan: Plan) -> Health:
    """Set everything up; components register their checks with the health that this gives.

    `service` is the default name in traces. Raises SettingsError for a port that is taken, and for OTEL_* variables
    that cannot be followed.
    """
    name_process(namespace=settings.namespace, instance=instance)
    configure_tracing(service, instance)
    show_plan(plan)
    health = Health()
    serve_http(settings, health)
    return health


def show_plan(plan: Plan) -> None:
    """This plan is in force now."""
    metrics.PLAN.info({"agent": plan.agent, "build": plan.build})
