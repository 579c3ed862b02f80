"""Running handlers over all actions of a process (PARKWAY_PROCESS_CONCURRENCY). Used on the event loop only."""

import asyncio
from collections.abc import Callable


class Slots:
    """At most `limit` at once. Workers that found none are woken in turn, so that none starves another."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: dict[Callable[[], None], None] = {}

    def available(self, wake: Callable[[], None]) -> bool:
        """Is there one? If not, `wake` is called once, on the event loop, when one may be there."""
        if self._free > 0:
            return True
        self._waiting[wake] = None
        return False

    def take(self) -> None:
        """One that is available."""
        self._free -= 1

    def give_back(self) -> None:
        self._free += 1
        self.pass_on()

    def pass_on(self) -> None:
        """From a worker that starts nothing more: what is left is the next one's."""
        if self._waiting and self._free > 0:
            wake = next(iter(self._waiting))
            del self._waiting[wake]
            asyncio.get_running_loop().call_soon(wake)
