"""How many records of the owned partitions are not completed: what to scale workers by (DESIGN 7.1).

Those in hand are counted exactly. Of those not taken yet, control records and aborted ones count too until the
consumer has passed them. The ends of the logs are asked for every few seconds, in one request for all partitions: the
consumers' own watermarks stand still while they are blocked, which is when the lag matters.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from confluent_kafka.admin import AdminClient

from parkway.runtime.log_offsets import high_watermarks
from parkway.workers.assignment import Assignment

_REFRESH_SECONDS: Final = 3.0

Places = list[tuple[str, int]]
Ends = dict[tuple[str, int], int]


class Lag:
    """The lag of one action. `current` gives the assignment in force, or None.

    `refresh_for_ever` runs on the event loop and asks by `in_thread`; `records` may be called from any thread.
    """

    def __init__(
        self,
        admin: AdminClient,
        current: Callable[[], Assignment | None],
        in_thread: Callable[
            [Callable[[AdminClient, Places], Ends | None], AdminClient, Places], Awaitable[Ends | None]
        ],
    ) -> None:
        self._admin = admin
        self._current = current
        self._in_thread = in_thread
        self._ends: Ends = {}
        self._last = 0

    def records(self) -> int:
        """Records not completed; between two assignments what it was before."""
        assignment = self._current()
        if assignment is not None:
            self._last = sum(one.behind(self._ends) for one in list(assignment.partitions.values()))
        return self._last

    async def refresh_for_ever(self) -> None:
        while True:
            assignment = self._current()
            if assignment is not None:
                places = [place for one in assignment.partitions.values() for place in one.places()]
                ends = await self._in_thread(high_watermarks, self._admin, places)
                if ends is not None:
                    self._ends = ends
            await asyncio.sleep(_REFRESH_SECONDS)
