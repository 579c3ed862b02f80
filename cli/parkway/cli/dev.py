"""`parkway dev`: a broker, a router and a worker on this machine, until Ctrl-C; what changes is loaded again."""

import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Annotated, Final

import typer
from confluent_kafka.admin import AdminClient
from rich.console import Console

from parkway.agents.build import build_plan
from parkway.agents.load import load_agent
from parkway.cli import dev_reload
from parkway.cli.dev_children import WRONG_CALL, Child
from parkway.cli.dev_feed import Feed, topics_to_follow
from parkway.cli.dev_view import LiveView, PlainView, View
from parkway.cli.groups import groups_of
from parkway.cli.options import AgentSource, KafkaSettings, Namespace, make_settings
from parkway.runtime.clients import admin_client
from parkway.runtime.foreign_topics import create_foreign
from parkway.runtime.logs import configure_logs
from parkway.runtime.settings import Settings, SettingsError
from parkway.runtime.topology import apply_topics, cluster, wanted_topics
from parkway.schemas.errors import ParkwayError
from parkway.schemas.plan import Plan
from parkway.testing.kafka import open_broker

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_PORT: Final = 9092
_PARTITIONS: Final = 4
_LOOK: Final = 0.1
_READY_EVERY: Final = 0.5


@app.command()
def run(
    agent: AgentSource,
    partitions: Annotated[int | None, typer.Option(min=1, help="Of every topic; default 4.")] = None,
    brokers: Annotated[int, typer.Option(help="Kafka nodes: 1 or 3.")] = 1,
    port: Annotated[int | None, typer.Option(help="Of its Kafka, with one node; default 9092.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin with an empty broker.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Lines only, as where there is no terminal.")] = False,
    reload: Annotated[bool, typer.Option("--reload/--no-reload", help="Load the agent again when it is saved.")] = True,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Start Kafka, create the topics, run a router and a worker, and show what happens.

    Every request, trigger, model and tool call, output and dead letter is a line; on a terminal the newest runs stand
    below. What dies is started again. When a file of the agent is saved (.py, .yaml, .csv, .toml) its plan is built
    anew, and router and worker go on with it; a mistake is said, and what ran runs on.

    Ctrl-C stops everything; the broker's data stay (PARKWAY_STATE_DIR, .parkway). With PARKWAY_BOOTSTRAP_SERVERS set it
    starts no Kafka and uses that one, topics included.

    For example:

      parkway dev support:Support

      parkway dev support:Support --fresh --plain | tee dev.log
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
    typer.echo(f"Agent        {agent}: {', '.join(action.name for action in plan.actions)}")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    typer.echo(
        f"Kafka        {given} (yours, from PARKWAY_BOOTSTRAP_SERVERS)" if given else "Kafka        starting ..."
    )
    data_dir = settings.state_dir / "kafka"
    with (
        open_broker(
            data_dir=data_dir, brokers=brokers, port=(port or _PORT) if brokers == 1 else None, fresh=fresh
        ) as broker,
        tempfile.TemporaryDirectory(prefix="parkway-dev-") as folder,
    ):
        settings = settings.model_copy(update={"bootstrap_servers": broker.bootstrap_servers})
        session = _Session(settings, agent, plan, Path(folder) / "plan.json", stop, foreign=not given)
        code = session.run(partitions, plain=plain or not Console().is_terminal, reload=reload)
    if code is not None:
        raise typer.Exit(code)


class _Session:
    """From a broker that answers to Ctrl-C. Everything but feed, watcher and readiness runs on the main thread."""

    def __init__(
        self, settings: Settings, agent: str, plan: Plan, plan_file: Path, stop: threading.Event, *, foreign: bool
    ) -> None:
        self._settings = settings
        self._agent = agent
        self._plan = plan
        self._plan_file = plan_file
        self._stop = stop
        self._foreign = foreign
        self._saved: SimpleQueue[list[str]] = SimpleQueue()
        self._children: list[Child] = []
        self._view: View = PlainView()
        self._reloads = 0
        self._ready = False

    def run(self, partitions: int | None, *, plain: bool, reload: bool) -> int | None:
        """Returns the exit code of a process that was called wrongly, if that ended it."""
        feed = self._begin(partitions)
        self._say_how()
        watching = reload and dev_reload.can_watch()
        if reload and not watching:
            typer.echo("Reload       off: pip install 'parkway[dev]' to have changes loaded when they are saved")
        if not plain:
            self._view = LiveView(Console(), self._states)
        self._children = self._make_children(piped=not plain)
        threads = [threading.Thread(target=feed.run, args=(self._view.tell, self._stop), daemon=True)]
        threads.append(threading.Thread(target=self._say_ready, daemon=True))
        if watching:
            folders = dev_reload.folders_of(self._agent)
            arguments = (folders, self._settings.state_dir, self._saved.put, self._stop)
            threads.append(threading.Thread(target=dev_reload.watch, args=arguments, daemon=True))
        for thread in threads:
            thread.start()
        try:
            return self._supervise(feed)
        finally:
            self._stop.set()
            for child in self._children:
                child.terminate()
            for child in self._children:
                child.wait()
            for thread in threads:
                thread.join()
            self._view.close()

    def _begin(self, partitions: int | None) -> Feed:
        """The admin client does not leave this function: destroyed after its broker it can hang for ever."""
        settings = self._settings
        typer.echo(f"Topics       {settings.namespace}.* at {settings.bootstrap_servers}")
        self._plan_file.write_bytes(self._plan.to_json())
        admin = admin_client(settings, f"{settings.namespace}.dev")
        if partitions is None and settings.topics.requests not in cluster(admin, settings.bootstrap_servers).topics:
            partitions = _PARTITIONS
        names = self._make_topics(admin, self._plan, partitions)
        return Feed(settings, admin, names)

    def _make_topics(self, admin: AdminClient, plan: Plan, partitions: int | None) -> list[str]:
        """Create what is missing, on a broker of our own also what sources and sinks name; returns what to follow."""
        settings = self._settings
        applied = apply_topics(admin, settings.bootstrap_servers, settings.topics, plan, partitions)
        if self._foreign:
            for name in create_foreign(admin, settings.bootstrap_servers, settings.topics, plan, applied.partitions):
                self._view.say("", f"created {name}, of a Source or Sink; on a Kafka that is not mine you create it")
        return topics_to_follow(settings.topics, [spec.name for spec in wanted_topics(settings.topics, plan)])

    def _say_how(self) -> None:
        settings = self._settings
        typer.echo(
            'Send events  echo \'{"type": "...", "attributes": {...}}\' | '
            f"parkway emit -b {settings.bootstrap_servers} --namespace {settings.namespace}"
        )
        typer.echo("Router and worker are starting; what happens is shown here. Ctrl-C stops everything.")

    def _make_children(self, *, piped: bool) -> list[Child]:
        first = self._settings.http_port  # each needs its own; 0 is any free one
        second = first + 1 if first else first
        say = self._view.say if piped else None
        router = ["router", "--plan", str(self._plan_file)]
        return [
            Child("router", router, self._settings, first, say),
            Child("worker", ["worker", self._agent, "--beside-router"], self._settings, second, say),
        ]

    def _supervise(self, feed: Feed) -> int | None:
        while not self._stop.is_set():
            for child in self._children:
                code = child.look()
                if code == WRONG_CALL and self._reloads == 0:
                    return code
                if code == WRONG_CALL:
                    self._view.say(
                        "dev", f"{child.name} ended with 2 (see above); it starts again when a file is saved"
                    )
                elif code is not None:
                    self._view.say(
                        "dev", f"{child.name} died (exit code {code}); it starts again in {child.starts_in:.1f} s"
                    )
            try:
                names = self._saved.get(timeout=_LOOK)
            except Empty:
                continue
            self._reload(names, feed)
        return None

    def _reload(self, names: list[str], feed: Feed) -> None:
        began = time.monotonic()
        self._view.say("dev", f"{', '.join(names[:3])} changed: loading ...")
        try:
            plan = dev_reload.build(self._agent)
            admin = admin_client(self._settings, f"{self._settings.namespace}.dev")
            feed.follow(admin, self._make_topics(admin, plan, None))
        except ParkwayError as error:
            self._view.say("dev", f"not loaded, what ran runs on: {error}")
            return
        self._reloads += 1
        routed = plan.build != self._plan.build
        self._plan = plan
        self._plan_file.write_bytes(plan.to_json())
        for child in self._children:
            if routed or child.name == "worker" or not child.runs:
                child.restart()
        what = f"plan {plan.build}" if routed else "the plan is the same"
        self._view.say("dev", f"loaded in {time.monotonic() - began:.1f} s: {what}")

    def _say_ready(self) -> None:
        """When every group has a member: until then events wait."""
        topics = self._settings.topics
        began = time.monotonic()
        wanted = [topics.router_group, *(topics.worker_group(action.name) for action in self._plan.actions)]
        while not self._stop.wait(_READY_EVERY):
            found = groups_of(self._settings, wanted)
            if all(name in found and found[name].members and found[name].state == "stable" for name in wanted):
                self._ready = True
                self._view.say("dev", f"ready: router and worker took {time.monotonic() - began:.1f} s")
                return

    def _states(self) -> str:
        children = ", ".join(
            f"{child.name} {'runs' if child.runs else 'is down'}"
            + (f" (died {child.restarts}x)" if child.restarts else "")
            for child in self._children
        )
        state = "ready" if self._ready else "starting"
        return f"{state}: {children}; Kafka {self._settings.bootstrap_servers}, loaded {self._reloads}x; Ctrl-C stops"
