"""`parkway dev`: a broker, a router and a worker on this machine, until Ctrl-C."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.cli.options import AgentSource, KafkaSettings, Namespace, make_settings
from parkway.cli.tail import ends_of_outputs, tail_outputs
from parkway.runtime.clients import admin_client
from parkway.runtime.foreign_topics import create_foreign
from parkway.runtime.logs import configure_logs, get_logger
from parkway.runtime.settings import Settings, SettingsError
from parkway.runtime.topology import apply_topics
from parkway.schemas.plan import Plan
from parkway.testing.kafka import open_broker

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


_SESSION_TIMEOUT: Final = "6"
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_PORT: Final = 9092
_PARTITIONS: Final = 4


@app.command()
def run(
    agent: AgentSource,
    partitions: Annotated[int | None, typer.Option(min=1, help="Of every topic; default 4.")] = None,
    brokers: Annotated[int, typer.Option(help="Kafka nodes: 1 or 3.")] = 1,
    port: Annotated[int | None, typer.Option(help="Of its Kafka, with one node; default 9092.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin with an empty broker.")] = False,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Start Kafka, create the topics, run a router and a worker, and print outputs and dead letters.

    What dies is started again. Ctrl-C stops everything; the broker's data stay (PARKWAY_STATE_DIR, .parkway).
    With PARKWAY_BOOTSTRAP_SERVERS set it starts no Kafka and uses that one, topics included.
    """
    given = os.environ.get("PARKWAY_BOOTSTRAP_SERVERS")
    if given and (port is not None or fresh or brokers != 1):
        raise SettingsError(
            f"PARKWAY_BOOTSTRAP_SERVERS={given} is set, so no Kafka is started: unset it, or leave out "
            "--port, --brokers and --fresh"
        )
    if brokers not in (1, 3):
        raise SettingsError(f"--brokers {brokers}: 1 or 3")
    settings = make_settings(kafka, namespace=namespace)
    configure_logs(settings.log_format, settings.log_level, capture_content=settings.capture_content)
    plan = build_plan(load_agent(agent), agent)
    data_dir = settings.state_dir / "kafka"
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with (
        open_broker(
            data_dir=data_dir, brokers=brokers, port=(port or _PORT) if brokers == 1 else None, fresh=fresh
        ) as broker,
        tempfile.TemporaryDirectory(prefix="parkway-dev-") as folder,
    ):
        settings = settings.model_copy(update={"bootstrap_servers": broker.bootstrap_servers})
        plan_file = Path(folder) / "plan.json"
        plan_file.write_bytes(plan.to_json())
        ends = _make_topics(settings, plan, partitions, foreign=not given)
        _say_ready(settings, agent, "yours, from PARKWAY_BOOTSTRAP_SERVERS" if given else "started here")
        tail = threading.Thread(target=tail_outputs, args=(settings, ends, stop), daemon=True)
        tail.start()
        router = [sys.executable, "-m", "parkway.cli", "router", "--plan", str(plan_file)]
        worker = [sys.executable, "-m", "parkway.cli", "worker", agent]
        first = settings.http_port  # each needs its own; 0 is any free one
        second = first + 1 if first else first
        children = [_Child("router", router, settings, first), _Child("worker", worker, settings, second)]
        _supervise(children, stop)
        tail.join()


def _make_topics(
    settings: Settings, plan: Plan, partitions: int | None, *, foreign: bool
) -> dict[tuple[str, int], int]:
    """Create what is missing, with `foreign` also what sources and sinks name; returns where outputs end now.

    The admin client does not leave this function: destroyed after its broker it can hang for ever.
    """
    admin = admin_client(settings, f"{settings.namespace}.dev")
    if partitions is None and settings.topics.requests not in admin.list_topics(timeout=10.0).topics:
        partitions = _PARTITIONS
    applied = apply_topics(admin, settings.bootstrap_servers, settings.topics, plan, partitions)
    if foreign:
        for name in create_foreign(admin, settings.bootstrap_servers, settings.topics, plan, applied.partitions):
            typer.echo(f"created {name}, of a Source or Sink; on a Kafka that is not mine you create it")
    return ends_of_outputs(admin, settings)


def _say_ready(settings: Settings, agent: str, whose: str) -> None:
    typer.echo(f"Kafka        {settings.bootstrap_servers} ({whose})")
    typer.echo(f"Agent        {agent}, topics {settings.namespace}.*")
    typer.echo(
        'Send events  echo \'{"type": "...", "attributes": {...}}\' | '
        f"parkway emit -b {settings.bootstrap_servers} --namespace {settings.namespace}"
    )
    typer.echo("Outputs and dead letters are printed here. Ctrl-C stops everything.\n")


class _Child:
    """A process that is started again when it dies, later and later."""

    def __init__(self, name: str, command: list[str], settings: Settings, http_port: int | None) -> None:
        self.name = name
        self._command = command
        self._environment = {
            "PARKWAY_SESSION_TIMEOUT": _SESSION_TIMEOUT,
            "PARKWAY_CAPTURE_CONTENT": "true",
            "PARKWAY_LOG_LEVEL": "warning",
            **os.environ,
            "PARKWAY_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
            "PARKWAY_NAMESPACE": settings.namespace,
            **{f"PARKWAY_KAFKA_{name.upper().replace('.', '_')}": value for name, value in settings.kafka.items()},
        }
        if http_port is not None:
            self._environment["PARKWAY_HTTP_PORT"] = str(http_port)
        self._pause = _FIRST_PAUSE
        self._start_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def look(self) -> int | None:
        """Start it if it is time to. Returns 2 when it ended because it was called wrongly: it would do so again."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._start_at:
                # A session of its own: Ctrl-C in the terminal is for us, who stop it in order.
                self._process = subprocess.Popen(self._command, env=self._environment, start_new_session=True)  # noqa: S603
            return None
        code = self._process.poll()
        if code is None:
            return None
        get_logger("dev").warning("process_died", process=self.name, exit_code=code, restart_in=self._pause)
        self._process = None
        self._start_at = now + self._pause
        self._pause = min(_LONGEST_PAUSE, self._pause * 2)
        return code if code == 2 else None

    def terminate(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def wait(self, seconds: float) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _supervise(children: list[_Child], stop: threading.Event) -> None:
    code = None
    while not stop.is_set() and code is None:
        for child in children:
            code = child.look() or code
        stop.wait(0.1)
    stop.set()
    for child in children:
        child.terminate()
    for child in children:
        child.wait(40.0)
    if code is not None:
        raise typer.Exit(code)
