"""A token bucket whose rate changes, and that may be in debt.

Of the libraries, aiolimiter and pyrate-limiter keep the rate that they were made with, and know no debt.
"""

import math
from collections.abc import Callable
from typing import Final

from parkway.agents.rate import RateLimit

Clock = Callable[[], float]

_EXACT: Final = 1e-6


class Bucket:
    """Fills with `share` of `rate`, up to its burst. `clock` gives seconds.

    It begins with one token, so that a process which is started again and again is no way around the rate.
    """

    def __init__(self, rate: RateLimit, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._share = 0.0
        self._level = 1.0
        self._at = clock()

    def set_share(self, share: float) -> None:
        """From now on; what was saved up under a larger share is lost, a debt stays."""
        self._fill()
        self._share = share
        self._level = min(self._level, self._capacity)

    def spend(self, tokens: float) -> None:
        """Take them, there or not; a negative number gives back."""
        self._fill()
        self._level = min(self._level - tokens, self._capacity)

    def wait(self) -> float:
        """Seconds until a whole token is there; infinite without a share."""
        self._fill()
        missing = 1.0 - self._level
        if self._share == 0.0:
            return math.inf
        return max(0.0, missing / (self._rate.per_second * self._share)) if missing > _EXACT else 0.0

    @property
    def _capacity(self) -> float:
        return max(1.0, self._rate.burst * self._share)

    def _fill(self) -> None:
        now = self._clock()
        added = (now - self._at) * self._rate.per_second * self._share
        self._level = max(self._level, min(self._level + added, self._capacity))
        self._at = now
