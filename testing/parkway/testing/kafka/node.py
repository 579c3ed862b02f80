"""One node of the broker: its folder and its process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from parkway.testing.kafka.errors import OTHER_BROKERS, BrokerError
from parkway.testing.kafka.java import Java
from parkway.testing.kafka.ports import accepts
from parkway.testing.kafka.probe import wait_for_nodes
from parkway.testing.kafka.properties import LOG_DIRECTORY, Address, render

_WATCHDOG = Path(__file__).with_name("watchdog.py")
_LOG_LINES = 20


class Node:
    """A KRaft node in a folder of its own: `server.properties`, `data/`, `kafka.log`.

    Its process is the child of a watchdog (see there) in a session of its own, so that a Ctrl-C in
    the terminal reaches whoever started it and not the broker. Not safe for several threads.
    """

    def __init__(self, address: Address, folder: Path, java: Java) -> None:
        self.address = address
        self.folder = folder
        self.log = folder / "kafka.log"
        self._java = java
        self._watchdog: subprocess.Popen[str] | None = None
        self._pid: int | None = None
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        """The id of the broker's process; None while it does not run."""
        running = self._watchdog is not None and self._watchdog.poll() is None
        return self._pid if running else None

    def configure(self, settings: Mapping[str, str]) -> None:
        """Write what the node is configured by; it counts from the next launch on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "tmp").mkdir(exist_ok=True)
        log4j = resources.files(__package__).joinpath("log4j2.yaml").read_bytes()
        (self.folder / "log4j2.yaml").write_bytes(log4j)
        (self.folder / "server.properties").write_text(render(settings), encoding="utf-8")

    @property
    def formatted(self) -> bool:
        # Kafka writes this file last.
        return (self.folder / LOG_DIRECTORY / "meta.properties").exists()

    def format(self, cluster_id: str, arguments: Sequence[str] = ()) -> None:
        """Make the data folder of a new node, as a member of the cluster.

        Raises: BrokerError with what Kafka says against it.
        """
        command = self._java.command(
            "kafka.tools.StorageTool", "format", "--cluster-id", cluster_id, "--config", "server.properties", *arguments
        )
        done = subprocess.run(  # noqa: S603  # our own command
            command, cwd=self.folder, text=True, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise BrokerError(f"Apache Kafka could not format {self.folder}:\n{done.stdout}{done.stderr}")

    def launch(self, *, lock: int | None = None, options: tuple[str, ...] = ()) -> None:
        """Start the process, without waiting until it answers.

        `lock` is a descriptor that the watchdog inherits: what it locks stays locked as long as the
        broker may write to its folder.
        """
        command = self._java.command(
            "kafka.Kafka",
            "server.properties",
            options=("-Dlog4j2.configurationFile=log4j2.yaml", "-Djava.io.tmpdir=tmp", *options),
        )
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self._watchdog = subprocess.Popen(  # noqa: S603  # our own command
                [sys.executable, "-I", "-S", str(_WATCHDOG), str(os.getpid()), *command],
                cwd=self.folder,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                pass_fds=() if lock is None else (lock,),
            )
        assert self._watchdog.stdout is not None
        first_line = self._watchdog.stdout.readline()
        if not first_line:  # not even Java could be started
            self._watchdog.wait()
            self.check()
        self._pid = int(first_line)

    def wait_until_it_answers(self, peers: set[int], *, deadline: float) -> None:
        """Wait until the node answers a client and knows all of `peers` as live.

        Raises: BrokerError with the end of the log, when the process ends by itself or `deadline`
            (in `time.monotonic()` seconds) passes.
        """
        while not accepts(self.address.broker_port) and time.monotonic() < deadline:
            self.check()
            time.sleep(0.05)
        server = self.address.probed_server
        if not wait_for_nodes(server, peers, deadline=deadline, check=self.check):
            raise BrokerError(
                f"Apache Kafka (node {self.address.node}) did not answer in time at {server}. "
                f"{self.log_end()}\n{OTHER_BROKERS}"
            )

    def check(self) -> None:
        """Raise BrokerError, with the end of the log, when the process has ended by itself."""
        assert self._watchdog is not None
        code = self._watchdog.poll()
        if code is None:
            return
        raise BrokerError(
            f"Apache Kafka (node {self.address.node}) ended with exit code {code} while it was starting. "
            f"{self.log_end()}\n"
            f"If its data folder is damaged, start with an empty one. {OTHER_BROKERS}"
        )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the broker's process, if it runs."""
        if self.pid is not None:
            os.kill(self.pid, number)

    def end(self, *, deadline: float) -> None:
        """Wait until the process is gone, and kill it at `deadline` (in `time.monotonic()` seconds)."""
        if self._watchdog is None:
            return
        try:
            self._watchdog.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self._watchdog.wait()
        assert self._watchdog.stdout is not None
        self._watchdog.stdout.close()

    def log_end(self) -> str:
        """Return the last lines that the process has logged since it was launched, with a title."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        return f"The end of its log ({self.folder.name}/{self.log.name}):\n" + "\n".join(lines[-_LOG_LINES:])
