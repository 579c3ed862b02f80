"""Where the agent of a test runs: over a log in memory, or on a real Kafka."""

from collections.abc import Sequence
from typing import Final, Protocol

from parkway.runtime.records import Record
from parkway.testing.log_record import LogRecord

COMMAND: Final = "command of the test"  # the name of tasks that are not the agent's


class Installation(Protocol):
    """A log, a router, and the workers of all actions. Everything here is called on the test's loop."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, records: Sequence[Record]) -> None:
        """As producers outside do."""
        ...

    async def run(self, at_most: float, patience: float) -> None:
        """Return when nothing is in flight: nothing runs, or would start by itself.

        The clock moves by `at_most` seconds at most, and it takes at most `patience` seconds of the machine's time.
        Raises NotQuietError, and whatever ended a worker or the router.
        """
        ...

    async def read(self) -> list[LogRecord]:
        """Every committed record; those of a partition in order."""
        ...
