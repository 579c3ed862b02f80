"""How often a user action is tried, and how long it waits in between."""

import random
from dataclasses import dataclass
from typing import Final

_RANDOM: Final = random.SystemRandom()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """`Retry(attempts=3, on=(Timeout,), backoff=5)`: three attempts in all, only after a Timeout.

    `backoff` is the wait after the first attempt in seconds; each further one is `factor` times as long, up
    to `max_backoff`. `jitter` is the share of a wait that is left to chance. While a record waits for its next
    attempt it occupies no handler, but holds its key: so no attempt begins later than `max_hold` seconds after
    the first one did. Attempts are counted on over deaths and rebalances.
    Raises ValueError for values that make no sense.
    """

    attempts: int = 3
    on: tuple[type[Exception], ...] = (Exception,)
    backoff: float = 1.0
    factor: float = 2.0
    max_backoff: float = 60.0
    jitter: float = 0.5
    max_hold: float = 600.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"Retry(attempts={self.attempts}): the first attempt counts, so at least 1")
        if not isinstance(self.on, tuple) or not all(_is_exception(kind) for kind in self.on):
            raise ValueError(f"Retry(on={self.on!r}): a tuple of exception classes, such as (TimeoutError,)")
        if min(self.backoff, self.max_backoff, self.max_hold) < 0 or self.factor < 1:
            raise ValueError(
                f"Retry(backoff={self.backoff}, factor={self.factor}, max_backoff={self.max_backoff}, "
                f"max_hold={self.max_hold}): seconds from 0 on, and a factor of at least 1"
            )
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"Retry(jitter={self.jitter}): a share between 0 and 1")

    def wait_after(self, attempt: int) -> float:
        """Seconds between the failed attempt number `attempt` (from 1 on) and the next one."""
        longest = self._longest_wait(attempt)
        return longest * (1 - self.jitter * _RANDOM.random())

    def left(self, attempts: int, seconds: float) -> float:
        """Seconds until the next attempt, when `attempts` have failed and the first began `seconds` ago.

        For who takes a record over: the waits that were drawn are not known, so it counts the longest, within
        `max_hold`. How long the attempts took is not known either: it may be less than is due, never more.
        """
        waits = sum(self._longest_wait(attempt) for attempt in range(1, attempts + 1))
        return max(0.0, min(waits, self.max_hold) - max(0.0, seconds))  # clocks of two hosts differ

    def _longest_wait(self, attempt: int) -> float:
        try:
            return min(self.backoff * self.factor ** (attempt - 1), self.max_backoff)
        except OverflowError:
            return self.max_backoff


def _is_exception(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


ONE_ATTEMPT: Final = Retry(attempts=1)
