"""A real Apache Kafka that pip installs: processes of this machine, no Docker, no Java on the system."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from parkway.testing.kafka import locks
from parkway.testing.kafka.errors import BrokerError
from parkway.testing.kafka.install import install
from parkway.testing.kafka.java import Java
from parkway.testing.kafka.node import Node
from parkway.testing.kafka.ports import HOST, free_ports, is_free
from parkway.testing.kafka.properties import Address, new_cluster_id, server_properties
from parkway.testing.kafka.security import Security

_START_SECONDS = 90.0
_STOP_SECONDS = 15.0
_LAST_STOP_SECONDS = 2.0
_LOCK_SECONDS = 3.0  # the watchdogs of a killed starter need a moment to end its broker


class PipKafka:
    """Apache Kafka 4.4.0 in KRaft mode, with one node or three, on the loopback interface.

    A broker ends with the process that started it, even when that is killed; a Ctrl-C in the terminal
    does not reach it. Not safe for several threads.

    Args:
        data_dir: where topics and the nodes' logs live, and survive `stop()`. None: a temporary
            folder that `stop()` removes.
        brokers: 1 or 3. Three replicate everything threefold, with min ISR 2. A folder keeps its number.
        port: of the first node, the others take the next ones. None: free ports, other ones after
            every `start()`; the advertised listeners follow.
        overrides: properties that go over ours in every node's `server.properties`.
        fresh: remove what `data_dir` holds of an earlier broker before the start.
        security: who may do what. None: everybody everything. A folder keeps the users that it was made with.

    """

    def __init__(
        self,
        *,
        data_dir: Path | None = None,
        brokers: int = 1,
        port: int | None = None,
        overrides: Mapping[str, str] | None = None,
        fresh: bool = False,
        security: Security | None = None,
    ) -> None:
        if brokers not in (1, 3):
            raise ValueError(f"brokers={brokers}: one node or three, as a quorum of controllers needs it")
        self._data_dir = data_dir
        self._brokers = brokers
        self._port = port
        self._overrides = dict(overrides or {})
        self._fresh = fresh
        self._security = security
        self._java: Java | None = None
        self._folder: Path | None = None
        self._lock: int | None = None
        self._addresses: list[Address] = []
        self._nodes: dict[int, Node] = {}

    def start(self) -> Self:
        """Start the broker and wait until it answers. The first time, Kafka is downloaded.

        Raises: BrokerError when it cannot be downloaded or does not come up, when the port is in
        use, and when another process has a broker on `data_dir`.
        """
        if self._nodes:
            raise BrokerError(f"this broker runs already, at {self.bootstrap_servers}: stop() comes first")
        self._java = self._java or install()
        try:
            self._claim_folder()
            self._configure()
            self._format()
            for node in self._nodes.values():
                node.launch(lock=self._lock)
            deadline = time.monotonic() + _START_SECONDS
            for node in self._nodes.values():
                node.wait_until_it_answers(set(self._nodes), deadline=deadline)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End all nodes by SIGTERM, and by SIGKILL what does not follow in 15 seconds. Idempotent.

        One after the other, so that each may hand over what it leads. The last of three has nobody
        left to hand over to, would wait for ever, and is given two seconds.
        """
        for node in self._nodes.values():
            node.signal(signal.SIGCONT)
        for node in reversed(self._nodes.values()):
            alone = self._brokers > 1 and len(self.pids) == 1
            node.signal(signal.SIGTERM)
            node.end(deadline=time.monotonic() + (_LAST_STOP_SECONDS if alone else _STOP_SECONDS))
        self._nodes = {}
        if self._folder is not None and self._data_dir is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
        self._folder = self._lock = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of every node, comma-separated, of the last start."""
        if not self._addresses:
            raise BrokerError("this broker has no address yet: start() comes first")
        return ",".join(address.bootstrap_server for address in self._addresses)

    def tool(self, *arguments: str) -> list[str]:
        """The command line that runs one of Kafka's tools: its main class, and what it is given.

        Such as `org.apache.kafka.tools.AclCommand`, which Kafka's scripts call `kafka-acls.sh`.
        """
        if self._java is None:
            raise BrokerError("this broker has no Java yet: start() comes first")
        return self._java.command(*arguments)

    @property
    def pids(self) -> dict[int, int]:
        """The process id of every node that runs, by node number (from 1)."""
        return {number: node.pid for number, node in self._nodes.items() if node.pid is not None}

    def kill(self, node: int = 1) -> None:
        """SIGKILL one node and wait until its process is gone."""
        self._node(node).signal(signal.SIGKILL)
        self._node(node).end(deadline=time.monotonic() + _STOP_SECONDS)

    def pause(self, node: int = 1) -> None:
        """SIGSTOP one node: its connections stay open and nothing answers on them."""
        self._node(node).signal(signal.SIGSTOP)

    def resume(self, node: int = 1) -> None:
        """SIGCONT one paused node."""
        self._node(node).signal(signal.SIGCONT)

    def restart(self, node: int = 1) -> None:
        """Start one node again, on its old port, and wait until it answers; stop it first if it runs."""
        which = self._node(node)
        which.signal(signal.SIGTERM)
        which.signal(signal.SIGCONT)  # a paused one hears the first signal only then
        which.end(deadline=time.monotonic() + _STOP_SECONDS)
        which.launch(lock=self._lock)
        which.wait_until_it_answers({node}, deadline=time.monotonic() + _START_SECONDS)

    def _node(self, number: int) -> Node:
        if number not in self._nodes:
            raise BrokerError(f"no node {number}: {sorted(self._nodes) or 'none'} started (they count from 1)")
        return self._nodes[number]

    def _claim_folder(self) -> None:
        folder = self._data_dir or Path(tempfile.mkdtemp(prefix="parkway-kafka-"))
        self._folder = folder = folder.expanduser().resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = locks.acquire(folder / ".lock", patience=_LOCK_SECONDS)
        if self._lock is None:
            self._folder = None
            starter = locks.holder(folder / ".lock")
            raise BrokerError(
                f"the data folder {folder} is in use by the broker that process {starter} started: "
                "stop that one, use it by PARKWAY_BOOTSTRAP_SERVERS=host:port, "
                "or give another folder (PARKWAY_STATE_DIR)"
            )
        if self._fresh:
            for made in (*folder.glob("node-*"), folder / "cluster-id"):
                shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)

    def _configure(self) -> None:
        assert self._folder is not None
        assert self._java is not None
        made_for = len(list(self._folder.glob("node-*")))
        if made_for not in (0, self._brokers):
            raise BrokerError(
                f"the data folder {self._folder} was made for {made_for} broker(s), not for {self._brokers}: "
                f"start {made_for}, start fresh (`parkway dev --fresh`), or give another folder (PARKWAY_STATE_DIR)"
            )
        self._addresses = self._choose_addresses()
        for address in self._addresses:
            node = Node(address, self._folder / f"node-{address.node}", self._java)
            node.configure(server_properties(address, self._addresses, self._overrides, self._security))
            self._nodes[address.node] = node

    def _choose_addresses(self) -> list[Address]:
        numbers = range(1, self._brokers + 1)
        free = free_ports(3 * self._brokers)
        broker_ports = free[: self._brokers]
        if self._port is not None:
            broker_ports = [self._port + offset for offset in range(self._brokers)]
            taken = [port for port in broker_ports if not is_free(port)]
            if taken:
                raise BrokerError(
                    f"port {taken[0]} on {HOST} is in use: stop what listens there, "
                    "or choose another port (`parkway dev --port PORT`)"
                )
        controller_ports, inside_ports = free[self._brokers : 2 * self._brokers], free[2 * self._brokers :]
        return [
            Address(number, broker, controller, inside if self._security is not None else None)
            for number, broker, controller, inside in zip(
                numbers, broker_ports, controller_ports, inside_ports, strict=True
            )
        ]

    def _format(self) -> None:
        cluster_id = self._cluster_id()
        new = [node for node in self._nodes.values() if not node.formatted]
        with ThreadPoolExecutor() as pool:  # each is a JVM of its own
            arguments = self._security.format_arguments if self._security is not None else ()
            list(pool.map(lambda node: node.format(cluster_id, arguments), new))

    def _cluster_id(self) -> str:
        assert self._folder is not None
        path = self._folder / "cluster-id"
        if not path.exists():
            # The nodes are formatted one by one: they must agree even when that is interrupted.
            partial = path.with_suffix(".partial")
            partial.write_text(new_cluster_id(), encoding="ascii")
            partial.replace(path)
        return path.read_text(encoding="ascii")
