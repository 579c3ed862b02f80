"""A producer with faults in it: real librdkafka against a real broker, and calls that go wrong when told.

`python faults.py <command line of parkway>` runs the command with the faults that the environment names. FAULTS is
a list of `<place>:<what>@<transaction>`, such as `after_commit:kill@1 before_flush:fatal@3`; transactions of the
process count from 1. A fault strikes once, in that transaction or the next one that comes to the place, and leaves
a line `fault struck` on stderr. With FAULT_WHEN none strikes before that file is there.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from confluent_kafka import KafkaError, KafkaException, Producer

from parkway.runtime import clients


def _send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def _raise(*flags: bool) -> None:
    """`flags`: fatal, retriable, transaction requires abort."""
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "injected", *flags))


_FAULTS: dict[str, Callable[[], None]] = {
    "kill": lambda: _send(signal.SIGKILL),
    "stop": lambda: _send(signal.SIGSTOP),
    "fatal": lambda: _raise(True),
    "retriable": lambda: _raise(False, True),
    "abortable": lambda: _raise(False, False, True),
    "hang": lambda: threading.Event().wait() and None,
    "too-long": lambda: time.sleep(float(os.environ["FAULT_SECONDS"])),
}


@dataclass(frozen=True)
class Fault:
    place: str
    what: str
    transaction: int

    def __str__(self) -> str:
        return f"{self.place}:{self.what}@{self.transaction}"

    @classmethod
    def read(cls, text: str) -> "Fault":
        place, rest = text.split(":")
        what, transaction = rest.split("@")
        return cls(place, what, int(transaction))


class FaultyProducer(Producer):
    """Every call goes through; what `arm` has set strikes once, before or after its call."""

    _faults: ClassVar[list[Fault]] = []
    _transactions = 0

    @classmethod
    def arm(cls, *faults: str) -> None:
        """Transactions count from now."""
        cls._faults = [Fault.read(fault) for fault in faults]
        cls._transactions = 0

    def begin_transaction(self, *arguments: Any) -> None:
        FaultyProducer._transactions += 1
        self._call("begin", super().begin_transaction, *arguments)

    def flush(self, *arguments: Any) -> int:
        return self._call("flush", super().flush, *arguments)

    def send_offsets_to_transaction(self, *arguments: Any) -> None:
        self._call("send_offsets", super().send_offsets_to_transaction, *arguments)

    def commit_transaction(self, *arguments: Any) -> None:
        self._call("commit", super().commit_transaction, *arguments)

    def _call(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        self._strike(f"before_{name}")
        answer = call(*arguments)
        if name != "flush" or answer == 0:
            self._strike(f"after_{name}")
        return answer

    @classmethod
    def _strike(cls, place: str) -> None:
        awaited = os.environ.get("FAULT_WHEN")
        if awaited is not None and not Path(awaited).exists():
            return
        for fault in cls._faults:
            if fault.place == place and cls._transactions >= fault.transaction:
                cls._faults.remove(fault)
                sys.stderr.write(f"fault struck {fault}\n")
                sys.stderr.flush()
                _FAULTS[fault.what]()
                return


if __name__ == "__main__":
    FaultyProducer.arm(*os.environ["FAULTS"].split())
    clients.Producer = FaultyProducer
    from parkway.cli.main import main

    sys.exit(main())
