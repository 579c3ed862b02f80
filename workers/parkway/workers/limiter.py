"""Limits of a whole installation on one thing (a chat model, an action), as far as they are this worker's share.

Used on the event loop only.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from parkway.agents.rate import RateLimit
from parkway.runtime import metrics
from parkway.workers.bucket import Bucket, Clock
from parkway.workers.share import NOTHING, Share
from parkway.workers.times import monotonic

_LEARN: Final = 0.2  # weight of the newest call in what a call usually costs


class Permit:
    """One call may be made. Whoever took it ends it, once; a second end does nothing."""

    def __init__(self, limiter: "Limiter", reserved: float) -> None:
        self._limiter: Limiter | None = limiter
        self._reserved = reserved

    def end(self, tokens: int | None = None) -> None:
        """The call is over and cost `tokens`; None: it cost nothing, or nobody knows."""
        limiter, self._limiter = self._limiter, None
        if limiter is not None:
            limiter.ended(self._reserved, tokens)


class Limiter:
    """Calls a time, tokens a time, and calls at once; each may be absent. `name` stands in metrics and messages.

    Tokens are reckoned after the call. Until then what a call usually costs is set aside, so that many calls
    that begin together do not overrun the limit together; the rest is a debt that later calls wait for.

    Nothing begins before `own` has said which share this worker has.
    """

    def __init__(
        self,
        name: str,
        *,
        calls: RateLimit | None = None,
        tokens: RateLimit | None = None,
        concurrency: int | None = None,
        clock: Clock = monotonic,
    ) -> None:
        self.name = name
        self._calls = Bucket(calls, clock) if calls is not None else None
        self._tokens = Bucket(tokens, clock) if tokens is not None else None
        self._concurrency = concurrency
        self._clock = clock
        self._places = 0
        self._running = 0
        self._usual = 0.0  # tokens of a call
        self._waiters: deque[asyncio.Future[Permit]] = deque()
        self._callbacks: dict[Callable[[], None], None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.own(NOTHING)

    def own(self, share: Share) -> None:
        """The share changes, at once."""
        for bucket in self._buckets():
            bucket.set_share(share.fraction)
        if self._concurrency is not None:
            self._places = share.places(self._concurrency)
        self._owned = bool(share.owned)
        self._serve()

    def try_take(self) -> Permit | None:
        """A permit if there is one now; None also when a call waits in `take`, which goes first."""
        return None if self._waiters else self._grant()

    async def take(self) -> Permit:
        """Wait for a permit: for calls of handlers that run already."""
        permit = self.try_take()
        if permit is not None:
            return permit
        began = self._clock()
        waiter: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._set_timer()
        try:
            permit = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                waiter.result().end()
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
            raise
        metrics.LIMIT_WAIT.labels(self.name).observe(self._clock() - began)
        return permit

    def when_free(self, call: Callable[[], None]) -> None:
        """Call once, on the event loop, when `try_take` is worth another try."""
        self._callbacks[call] = None
        self._set_timer()

    def ended(self, reserved: float, tokens: int | None) -> None:
        """From a permit."""
        self._running -= 1
        if tokens is not None:
            self._usual += (tokens - self._usual) * (_LEARN if self._usual else 1.0)
        if self._tokens is not None:
            self._tokens.spend((tokens or 0) - reserved)
        self._serve()

    def _grant(self) -> Permit | None:
        if self._wait() > 0:
            return None
        reserved = max(1.0, self._usual)
        if self._calls is not None:
            self._calls.spend(1)
        if self._tokens is not None:
            self._tokens.spend(reserved)
        self._running += 1
        return Permit(self, reserved)

    def _wait(self) -> float:
        """Seconds until a call may begin; infinite when that is not a matter of time."""
        full = self._concurrency is not None and self._running >= self._places
        if full or not self._owned:
            return float("inf")
        return max((bucket.wait() for bucket in self._buckets()), default=0.0)

    def _buckets(self) -> list[Bucket]:
        return [bucket for bucket in (self._calls, self._tokens) if bucket is not None]

    def _serve(self) -> None:
        while self._waiters:
            if self._waiters[0].done():  # cancelled, and about to be taken out
                self._waiters.popleft()
                continue
            permit = self._grant()
            if permit is None:
                break
            self._waiters.popleft().set_result(permit)
        if self._callbacks and not self._waiters and self._wait() == 0:
            callbacks, self._callbacks = self._callbacks, {}
            for call in callbacks:
                asyncio.get_running_loop().call_soon(call)
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wait = self._wait()
        if (self._waiters or self._callbacks) and wait != float("inf"):
            self._timer = asyncio.get_running_loop().call_later(wait, self._serve)
