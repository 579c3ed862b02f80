"""The AOT cache (JEP 514): what a JVM has learnt about Kafka's classes, kept for the next one.

Measured on 2 cores: a broker answers after 1.2 s instead of 3.4 s. To make the cache takes one start
and 8 s more, once per machine and Java, and 68 MB.
"""

import dataclasses
import signal
import sys
import tempfile
import time
from pathlib import Path

from parkway.testing.kafka import locks
from parkway.testing.kafka.errors import BrokerError
from parkway.testing.kafka.java import Java
from parkway.testing.kafka.node import Node
from parkway.testing.kafka.ports import free_ports
from parkway.testing.kafka.properties import Address, new_cluster_id, server_properties

_START_SECONDS = 90.0
_DUMP_SECONDS = 120.0


def with_aot_cache(java: Java, path: Path) -> Java:
    """Return `java` with the cache at `path`, made when it is missing; as it was when none can be made."""
    if not path.exists():
        with locks.exclusive(path.with_suffix(".lock"), on_wait=lambda: _say("waiting for another process")):
            if not path.exists():
                _say("preparing quick starts, once, about 15 seconds")
                _train(java, path)
    # An empty file says that it was tried in vain: trying at every start would cost more than it gains.
    return dataclasses.replace(java, aot_cache=path) if path.stat().st_size else java


def _train(java: Java, path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".training-", dir=path.parent) as folder:
        made = Path(folder) / path.name
        try:
            _run_once(java, Path(folder) / "node-1", made)
        except BrokerError as error:
            _say(f"no quick starts: {error}")
        if made.exists():
            made.replace(path)
        else:
            path.touch()


def _run_once(java: Java, folder: Path, cache: Path) -> None:
    """Start and stop a broker; its JVM writes the cache when it ends."""
    address = Address(1, *free_ports(2))
    node = Node(address, folder, java)
    node.configure(server_properties(address, [address], {}))
    node.format(new_cluster_id())
    try:
        node.launch(options=(f"-XX:AOTCacheOutput={cache}",))
        node.wait_until_it_answers({1}, deadline=time.monotonic() + _START_SECONDS)
        node.signal(signal.SIGTERM)
        node.end(deadline=time.monotonic() + _DUMP_SECONDS)
    finally:
        node.end(deadline=time.monotonic())


def _say(text: str) -> None:
    sys.stderr.write(f"parkway: Apache Kafka: {text}\n")
    sys.stderr.flush()
