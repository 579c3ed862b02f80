"""`make demo`: real webhooks through the agent on a real Kafka, and a worker killed in the middle of it.

Exit code 0 when every expected answer and output is there exactly once; 1 when one is missing or doubled, when the
moment to kill never came, or when the killed worker's partitions waited for more than 15 s.
"""

import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, NoReturn

from confluent_kafka import KafkaException, Producer
from examples.github_triage.demo.cluster import Cluster
from examples.github_triage.demo.deliveries import Delivery, load_deliveries
from examples.github_triage.demo.errors import DemoError
from examples.github_triage.demo.expected import expected_of
from examples.github_triage.demo.outage import Killer, Outage
from examples.github_triage.demo.processes import Fleet, Process, run_parkway
from examples.github_triage.demo.readback import problems, read_back
from examples.github_triage.demo.report import Progress, table_of
from examples.github_triage.demo.watch import Watch
from rich.console import Console

from parkway.schemas.plan import Plan
from parkway.schemas.topics import Topics
from parkway.testing.kafka import BrokerError, open_broker, prepare

AGENT: Final = "examples.github_triage.agent:GithubTriage"
PARTITIONS: Final = 6
PER_SECOND: Final = 50  # deliveries; slow enough to see the agent at work while it is emitted
START_SECONDS: Final = 90.0
WORK_SECONDS: Final = 60.0
QUIET_SECONDS: Final = 60.0
SERVED_SECONDS: Final = 15.0
ALL_SECONDS: Final = 180  # the broker's start and its download apart


class Demo:
    """One run against a broker that answers."""

    def __init__(self, bootstrap_servers: str, progress: Progress, console: Console, logs: Path) -> None:
        self._servers = bootstrap_servers
        self._progress = progress
        self._console = console
        self._logs = logs
        self._topics = Topics(f"demo-{secrets.token_hex(3)}")
        self._environment = {
            "PARKWAY_BOOTSTRAP_SERVERS": bootstrap_servers,
            "PARKWAY_NAMESPACE": self._topics.namespace,
            "PARKWAY_SESSION_TIMEOUT": "6",
            "PARKWAY_DRAIN": "5",
            "PARKWAY_LOG_FORMAT": "json",
            "TMPDIR": str(logs),  # the lock files of these instances go when the logs go
        }

    def run(self) -> bool:
        """Give whether all is as it must be. Raises DemoError."""
        began = time.monotonic()
        deliveries = load_deliveries()
        expected = expected_of(deliveries)
        plan = self._install()
        with (
            closing(Cluster(self._servers, self._topics, plan, PARTITIONS)) as cluster,
            closing(Watch(self._servers, self._topics, PARTITIONS)) as watch,
        ):
            fleet = self._fleet(plan)
            try:
                self._start(fleet, cluster)
                killer = Killer(fleet, cluster, watch, self._topics)
                self._emit(deliveries, fleet, watch, killer)
                outage = self._killed(fleet, watch, killer)
                self._wait_for_quiet(fleet, cluster, watch)
                self._progress.step("Reading everything back, committed records only")
                found = read_back(self._servers, cluster, self._topics, plan)
                self._progress.done()
            finally:
                bad = self._stop(fleet)
            cluster.delete_topics()
        wrong = list(problems(expected, found, failures_allowed="PARKWAY_MODEL" in os.environ))
        wrong += [f"did not stop in order: {name}" for name in bad]
        if outage.waited > SERVED_SECONDS:
            wrong.append(f"the partitions of {outage.process.name} waited for {outage.waited:.1f} s: {outage.served}")
        self._console.print(table_of(len(deliveries), expected, found, outage, time.monotonic() - began))
        for line in wrong:
            self._console.print(f"WRONG: {line}", markup=False, soft_wrap=True, highlight=False)
        return not wrong

    def _install(self) -> Plan:
        self._progress.step("Building the plan and creating the topics")
        plan_file = self._logs / "plan.json"
        plan_file.write_bytes(run_parkway("plan", "build", AGENT, environment=self._environment))
        apply = ("topics", "apply", "--plan", str(plan_file), "--partitions", str(PARTITIONS))
        run_parkway(*apply, environment=self._environment)
        self._progress.done()
        return Plan.from_json(plan_file.read_bytes())

    def _fleet(self, plan: Plan) -> Fleet:
        commands: dict[str, tuple[str, ...]] = {"router": ("router", "--plan", str(self._logs / "plan.json"))}
        commands |= {one.name: ("worker", AGENT, "--action", one.name) for one in plan.actions}
        return Fleet(
            Process(f"{name}-{number}", command, self._environment, self._logs)
            for name, command in commands.items()
            for number in (1, 2)
        )

    def _start(self, fleet: Fleet, cluster: Cluster) -> None:
        self._progress.step(f"Starting {len(fleet.processes)} processes: 2 routers, 2 workers per action")
        fleet.start()
        deadline = time.monotonic() + START_SECONDS
        while (complete := cluster.complete_groups()) != cluster.groups.keys():
            fleet.check()
            self._progress.detail(f"{len(complete)} of {len(cluster.groups)} groups are complete")
            if time.monotonic() > deadline:
                raise DemoError(f"not complete after {START_SECONDS:.0f} s: {sorted(cluster.groups.keys() - complete)}")
            time.sleep(0.3)
        self._progress.done()

    def _emit(self, deliveries: list[Delivery], fleet: Fleet, watch: Watch, killer: Killer) -> None:
        """Send all deliveries at an even rate, as any producer does; meanwhile the killer looks for its moment."""
        self._progress.step(f"Emitting {len(deliveries)} webhooks")
        failures: list[str] = []
        producer = Producer({"bootstrap.servers": self._servers, "enable.idempotence": True, "log_level": 2})
        began = time.monotonic()
        for number, delivery in enumerate(deliveries):
            producer.produce(
                self._topics.requests,
                delivery.to_json(),
                delivery.key,
                on_delivery=lambda error, _: failures.append(error.str()) if error is not None else None,
            )
            producer.poll(0)
            while time.monotonic() - began < number / PER_SECOND:
                self._observe(fleet, watch, killer)
        if producer.flush(10.0) or failures:
            raise DemoError(f"the producer could not deliver everything: {failures[:1] or 'timed out'}")
        self._progress.done()

    def _killed(self, fleet: Fleet, watch: Watch, killer: Killer) -> Outage:
        self._progress.step("Waiting until the killed worker's partitions are served again")
        deadline = time.monotonic() + WORK_SECONDS
        while killer.outage is None or not killer.outage.over:
            self._observe(fleet, watch, killer)
            if time.monotonic() > deadline:
                raise _never(killer.outage)
        self._progress.done()
        return killer.outage

    def _wait_for_quiet(self, fleet: Fleet, cluster: Cluster, watch: Watch) -> None:
        """Quiet: no group has lag, nothing is parked, and no topic grows any more."""
        self._progress.step("Waiting until everything is handled")
        deadline = time.monotonic() + QUIET_SECONDS
        topics = [self._topics.outputs, self._topics.parked, *(one for each in cluster.groups.values() for one in each)]
        before = None
        while True:
            watch.catch_up(0.2)
            ends, lag = cluster.high_watermarks(topics), cluster.lag()
            if lag == 0 and not watch.parked and ends == before:
                break
            before = ends
            fleet.check()
            self._progress.detail(f"lag {lag}, {len(watch.parked)} parked, {watch.outputs} outputs")
            if time.monotonic() > deadline:
                raise DemoError(f"no quiet after {QUIET_SECONDS:.0f} s: lag {lag}, parked {sorted(watch.parked)}")
        self._progress.done()

    def _stop(self, fleet: Fleet) -> list[str]:
        """Give the processes that did not stop in order. From here on, nothing interrupts the demo."""
        signal.alarm(0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        self._progress.step("Stopping all processes")
        bad = fleet.stop()
        self._progress.done()
        return bad

    def _observe(self, fleet: Fleet, watch: Watch, killer: Killer) -> None:
        watch.take(0.02)
        before = killer.outage
        killer.look()
        fleet.check()
        if killer.outage is not before and killer.outage is not None:
            self._say_killed(killer.outage)
        self._progress.detail(
            f"{watch.asked} chats asked, {len(watch.parked)} parked, {watch.answered} answered, {watch.outputs} outputs"
        )

    def _say_killed(self, outage: Outage) -> None:
        self._console.print(
            f"Killed {outage.process.name} (pid {outage.pid}) in the middle of a model call; "
            f"chats parked in its partitions: {len(outage.interrupted)}",
            soft_wrap=True,
            highlight=False,
        )


def _never(outage: Outage | None) -> DemoError:
    if outage is None:
        return DemoError("the moment never came: no chat worker had a parked chat and its model call running")
    missing = sorted(outage.member.partitions - outage.served.keys())
    return DemoError(f"partitions {missing} of {outage.process.name} were not served again in {WORK_SECONDS:.0f} s")


def _interrupt(reason: str) -> Callable[..., NoReturn]:
    def handler(*_: object) -> NoReturn:
        raise DemoError(reason)

    return handler


def main() -> int:
    """Run the demo and give its exit code."""
    console = Console()
    signal.signal(signal.SIGTERM, _interrupt("stopped by SIGTERM"))
    signal.signal(signal.SIGALRM, _interrupt(f"not done after {ALL_SECONDS} s"))
    logs = Path(tempfile.mkdtemp(prefix="parkway-demo-"))
    good = False
    try:
        prepare()
        with Progress(console) as progress:
            progress.step("Starting a real Apache Kafka")
            with open_broker() as broker:
                progress.done()
                signal.alarm(ALL_SECONDS)
                good = Demo(broker.bootstrap_servers, progress, console, logs).run()
    except (DemoError, BrokerError, KafkaException) as error:
        console.print(f"FAILED: {error}", markup=False, soft_wrap=True, highlight=False)
    except KeyboardInterrupt:
        console.print("Interrupted.")
    if good:
        shutil.rmtree(logs)
        console.print("Every answer and every output is there exactly once.")
    else:
        console.print(f"The logs of all processes are in {logs}", soft_wrap=True, highlight=False)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
