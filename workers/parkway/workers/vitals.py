"""What the worker of one action shows of itself: its metrics, and whether it is ready.

Events are told on the event loop; gauges are read when they are scraped, on another thread: sizes only.
"""

import time
from collections.abc import Callable, Sequence

from prometheus_client import Counter, Histogram

from parkway.runtime import metrics
from parkway.runtime.health import Health
from parkway.workers.assignment import Assignment
from parkway.workers.work import Result


class Vitals:
    """Of one action in the consumer group `group`."""

    def __init__(self, action: str, group: str) -> None:
        self._action = action
        self._group = group
        self._not_ready: str | None = f"it has not joined {group} yet"
        self._draining = False
        self._assigned_at = 0.0
        # A lookup by labels costs more than the count: by outcome, and by how a request ended.
        self._handled: dict[str, tuple[Counter, Histogram]] = {}
        self._ended: dict[str, Counter] = {}

    def expose(
        self,
        current: Callable[[], Assignment | None],
        *,
        running: Callable[[], int],
        queued: Callable[[], int],
        lag: Callable[[], int],
    ) -> None:
        """Show these sizes; `current` gives the assignment in force."""
        name = self._action
        metrics.RUNNING.labels(name).set_function(running)
        metrics.QUEUED.labels(name).set_function(queued)
        metrics.LAG.labels(name).set_function(lag)
        metrics.DEATHS.labels(name).set_function(lambda: one.deaths() if (one := current()) else 0)
        metrics.PARKED.labels(name).set_function(lambda: one.parked() if (one := current()) else 0)
        metrics.AWAITING_PERSON.labels(name).set_function(lambda: one.awaiting_person() if (one := current()) else 0)
        metrics.PARKED_BYTES.labels(name).set_function(lambda: one.parked_bytes() if (one := current()) else 0)
        metrics.STATE_KEYS.labels(name).set_function(lambda: one.state_keys() if (one := current()) else 0)
        metrics.STATE_BYTES.labels(name).set_function(lambda: one.state_bytes() if (one := current()) else 0)
        metrics.OLDEST_SECONDS.labels(name).set_function(lambda: one.oldest_age() if (one := current()) else 0)

    def register(self, health: Health) -> None:
        """Ready while it takes what it owns."""
        health.ready(f"group:{self._action}", lambda: "it is stopping" if self._draining else self._not_ready)

    def assigned(self, partitions: int) -> None:
        self._assigned_at = time.monotonic()
        self._not_ready = "its partitions are being restored"
        metrics.REBALANCES.labels(self._group).inc()
        metrics.ASSIGNED.labels(self._group).set(partitions)

    def taking(self) -> None:
        """Everything is restored."""
        self._not_ready = None
        metrics.RESTORE_SECONDS.labels(self._action).observe(time.monotonic() - self._assigned_at)

    def revoked(self) -> None:
        self._not_ready = f"{self._group} rebalances"
        metrics.ASSIGNED.labels(self._group).set(0)

    def draining(self) -> None:
        self._draining = True

    def handled(self, outcome: str, seconds: float) -> None:
        """A handler has ended."""
        shown = self._handled.get(outcome)
        if shown is None:
            labels = (self._action, outcome)
            shown = metrics.HANDLED.labels(*labels), metrics.HANDLER_SECONDS.labels(*labels)
            self._handled[outcome] = shown
        count, duration = shown
        count.inc()
        duration.observe(seconds)

    def committed(self, results: Sequence[Result]) -> None:
        for result in results:
            how = result.how
            if how is not None:
                if how not in self._ended:
                    self._ended[how] = metrics.ENDED.labels(self._action, how)
                self._ended[how].inc()
