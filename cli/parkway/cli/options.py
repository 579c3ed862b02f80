"""Flags that several commands share, and the settings made of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from parkway.runtime.settings import Settings, SettingsError, load_settings, unknown_variables
from parkway.schemas.plan import Plan, PlanError

Bootstrap = Annotated[
    str | None,
    typer.Option("--bootstrap-servers", "-b", metavar="HOST:PORT", help="Kafka (PARKWAY_BOOTSTRAP_SERVERS)."),
]
Namespace = Annotated[
    str | None, typer.Option(metavar="NAME", help="Prefix of all topics and groups (PARKWAY_NAMESPACE; parkway).")
]
KafkaSettings = Annotated[
    list[str] | None,
    typer.Option("-X", metavar="KEY=VALUE", help="Any librdkafka setting, as often as needed (PARKWAY_KAFKA_...)."),
]
InstanceName = Annotated[
    str | None,
    typer.Option("--instance", metavar="NAME", help="Name of this process (PARKWAY_INSTANCE; host name and slot)."),
]
LogFormat = Annotated[str | None, typer.Option(metavar="auto|json|console", help="PARKWAY_LOG_FORMAT")]
LogLevel = Annotated[str | None, typer.Option(metavar="debug|info|warning|error", help="PARKWAY_LOG_LEVEL")]
HttpPort = Annotated[
    int | None, typer.Option(metavar="PORT", help="Serve /metrics, /healthz and /readyz there (PARKWAY_HTTP_PORT).")
]
PlanFile = Annotated[Path, typer.Option("--plan", metavar="FILE", help="The plan, from `parkway plan build`.")]
PlanArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The plan, from `parkway plan build`.")]
AgentSource = Annotated[
    str, typer.Argument(metavar="MODULE:AGENT", help="The agent's class, such as support:Support, or an agent.yaml.")
]


def make_settings(kafka: list[str] | None, **flags: Any) -> Settings:
    """Settings from the environment and these flags. Raises SettingsError."""
    passed = {}
    for pair in kafka or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SettingsError(f"-X {pair!r}: write KEY=VALUE, such as -X security.protocol=SSL")
        passed[name] = value
    for name, close in unknown_variables().items():
        typer.echo(f"warning: {name} is no setting" + (f"; did you mean {close}?" if close else ""), err=True)
    return load_settings(passed, **flags)


def read_plan(path: Path) -> Plan:
    """Read a plan file. Raises PlanError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PlanError(
            f"plan {path}: {error.strerror}; make one with `parkway plan build MODULE:AGENT > {path}`"
        ) from None
    return Plan.from_json(data, source=f"plan {path}")
