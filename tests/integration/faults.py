"""A producer with a fault in it: real librdkafka against a real broker, and one call that goes wrong when told.

`python faults.py <command line of parkway>` runs the command with the fault that the environment names: FAULT is
`<place>:<what>` such as `after_commit:kill`, FAULT_AT the number of the transaction that meets it, from 1.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

from confluent_kafka import KafkaError, KafkaException, Producer

from parkway.runtime import clients


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _fatal() -> None:
    raise KafkaException(KafkaError(KafkaError._FATAL, "injected", True))


def _abortable() -> None:
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "injected", False, False, True))


def _retriable() -> None:
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "injected", False, True))


def _too_long() -> None:
    time.sleep(float(os.environ["FAULT_SECONDS"]))


_FAULTS: dict[str, Callable[[], None]] = {
    "kill": _kill,
    "fatal": _fatal,
    "abortable": _abortable,
    "retriable": _retriable,
    "too-long": _too_long,
}


class FaultyProducer(Producer):
    """Every call goes through; what `arm` has set strikes once, before or after its call."""

    _faults: ClassVar[dict[str, str]] = {}
    _at = 0
    _transactions = 0

    @classmethod
    def arm(cls, at: int = 1, **faults: str) -> None:
        """`after_commit="fatal"`: in the transaction number `at` from now, right after the commit has succeeded."""
        cls._faults = {where.replace("_", "-"): what for where, what in faults.items()}
        cls._at, cls._transactions = at, 0

    def begin_transaction(self, *arguments: Any) -> None:
        FaultyProducer._transactions += 1
        self._call("begin", super().begin_transaction, *arguments)

    def flush(self, *arguments: Any) -> int:
        return self._call("flush", super().flush, *arguments)

    def send_offsets_to_transaction(self, *arguments: Any) -> None:
        self._call("send-offsets", super().send_offsets_to_transaction, *arguments)

    def commit_transaction(self, *arguments: Any) -> None:
        self._call("commit", super().commit_transaction, *arguments)

    def _call(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        self._strike(f"before-{name}")
        answer = call(*arguments)
        if name != "flush" or answer == 0:
            self._strike(f"after-{name}")
        return answer

    @classmethod
    def _strike(cls, where: str) -> None:
        if cls._transactions >= cls._at and where in cls._faults:
            _FAULTS[cls._faults.pop(where)]()


if __name__ == "__main__":
    place, _, what = os.environ["FAULT"].partition(":")
    FaultyProducer.arm(int(os.environ["FAULT_AT"]), **{place: what})
    clients.Producer = FaultyProducer
    from parkway.cli.main import main

    sys.exit(main())
