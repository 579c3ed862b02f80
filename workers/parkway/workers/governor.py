"""How many records a process runs at once while something in it is suspected of killing it (DESIGN 7.1).

One governor for all actions of a process: they die together, so what is to run alone must be alone among all of them.
After one death everything goes on as ever. From the second one in a row on, the process runs half as many records at
once per death, suspects first, those of the most deaths before the others; down to a single one.

Pure decisions; used on the event loop only.
"""

from collections.abc import Callable
from typing import Final, Protocol

from parkway.runtime.logs import get_logger
from parkway.workers.work import Work

# Whatever the concurrency is: three deaths in a row, of a node that runs out of memory say, convict nobody.
_ALONE_FROM: Final = 3


class Member(Protocol):
    """The works of one action."""

    def most_urgent(self) -> int | None:
        """Of the next work that could start: the deaths that it is suspected of, 0 for none; None: nothing can."""
        ...

    def start_next(self) -> bool:
        """Start that work, or have its start written into its map. False: nothing could start after all."""
        ...

    def start_all(self) -> None:
        """Start what can start, up to the action's own concurrency."""
        ...

    def be_cautious(self, *, cautious: bool) -> None:
        """Something in the process is suspected, or nothing any more."""
        ...

    @property
    def admitted(self) -> int:
        """Works that are to start when their map says so."""
        ...


class Governor:
    """For a process that runs at most `most` records at once.

    `leftovers` counts what runs on although its record is done: threads of sync code that ran out of time.
    """

    def __init__(self, leftovers: Callable[[], int], most: int) -> None:
        self._most = most
        self.deaths = 0  # the most deaths in a row that something in the process is suspected of
        self.limit: int | None = None  # records that may run at once, over all actions; None: each action's own bound
        self._leftovers = leftovers
        self._deaths: dict[Member, int] = {}
        self._concurrency = 1
        self._running = 0
        self._alone: tuple[Member, Work] | None = None
        self._granting = False
        self._log = get_logger("worker")

    def join(self, member: Member, concurrency: int) -> None:
        self._deaths[member] = 0
        self._concurrency = min(self._most, max(self._concurrency, concurrency))

    def report(self, member: Member, deaths: int) -> None:
        """The most deaths of `member`'s partitions that have suspects."""
        self._deaths[member] = deaths
        self.deaths = max(self._deaths.values())
        for one in self._deaths:
            one.be_cautious(cautious=self.deaths > 0)
        before, self.limit = self.limit, self._limit()
        if self.limit != before:
            self._log.warning("concurrency_limited", records=self.limit or "no limit", deaths=self.deaths)
            self.pump()

    def _limit(self) -> int | None:
        return None if self.deaths < 2 else max(1, self._concurrency >> (self.deaths - 1))

    # -- what runs

    def started(self) -> None:
        """A handler runs. It counts until it ends, whatever becomes of its record."""
        self._running += 1

    def ended(self) -> None:
        self._running -= 1
        if self.is_limited:
            self.pump()

    def isolate(self, member: Member, work: Work) -> bool:
        """This work is about to be admitted. True: nothing else runs in the process until `release` or `forget`."""
        if self.limit != 1 or self.deaths < _ALONE_FROM or self._leftovers():
            return False
        self._alone = (member, work)
        return True

    def alone_of(self, member: Member) -> Work | None:
        """The work of this member that is alone in the process."""
        return self._alone[1] if self._alone is not None and self._alone[0] is member else None

    def release(self) -> None:
        """No map says any more that the work is alone."""
        self._alone = None
        self.pump()

    def forget(self, member: Member) -> None:
        """The member's epoch has ended. The process stays as careful as it is until the next one."""
        if self.alone_of(member) is not None:
            self.release()

    # -- who starts

    @property
    def is_limited(self) -> bool:
        return self.limit is not None or self._alone is not None

    def pump(self) -> None:
        """Start what may start, of all actions."""
        if self._granting:
            return
        self._granting = True
        try:
            if self.is_limited:
                self._grant()
            else:
                for member in self._deaths:
                    member.start_all()
        finally:
            self._granting = False

    def _grant(self) -> None:
        """One at a time, to the member with the most urgent work."""
        idle: set[Member] = set()
        while self._has_room():
            urgent = {
                member: urgency
                for member in self._deaths
                if member not in idle and (urgency := member.most_urgent()) is not None
            }
            if not urgent:
                return
            member = max(urgent, key=lambda one: urgent[one])
            if not member.start_next():
                idle.add(member)

    def _has_room(self) -> bool:
        if self._alone is not None:
            return False
        busy = self._running + sum(member.admitted for member in self._deaths)
        return self.limit is None or busy < self.limit
