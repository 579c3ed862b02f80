"""Who may have killed the process: the suspects of one partition, and what its maps say of them (DESIGN 7.1).

A record that kills its process (out of memory, a crash in a C library) would kill every next one, too. So an owner
marks its partitions `unclean` before it starts anything, and `clean` when it leaves. One that finds another's `unclean`
counts a death, and suspects every record that may have run: all that is unfinished, up to where the dead owner had
said that it starts records. While anything in the process is suspected that place follows what is started, record by
record, so that the suspects of the next death are those that ran; where none was started, all stays as it was. From
the second death on fewer run at once (governor.py), down to one: its partition's map says that it runs alone before it
does. A record that died alone is convicted.

Nobody died when an owner finds a stamp of its own process: it had lost the partition, or missed a rebalance.

`Standing` is that for one partition, in one epoch. Used on the event loop only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from parkway.workers.marks import CLEAN, MOST_DEATHS, Marks
from parkway.workers.work import Lane


@dataclass(frozen=True, slots=True)
class Conviction:
    """A record that died alone. Not `readable`: it did so again while its failed response was made of it."""

    deaths: int
    readable: bool

    def __str__(self) -> str:
        return (
            f"the process died {self.deaths} times in a row, the last time while it ran this record and nothing else: "
            "it is not run again"
        )


class Standing:
    """Deaths, suspects and convictions of a partition, and the marks of its maps.

    `sending` and `committed` follow the transactions; a record starts when `may_start` says so, and not before.
    """

    def __init__(
        self,
        deaths: int = 0,
        suspects: Mapping[Lane, int] | None = None,
        found: Mapping[Lane, Marks] | None = None,
        *,
        died: bool = False,
    ) -> None:
        self.deaths = deaths
        self.died = died  # was a death counted at this restore?
        self._suspects = dict(suspects or {}) if deaths else {}  # ends: records below are suspects
        self._convictions: dict[tuple[Lane, int], Conviction] = {}
        self._alone: tuple[Lane, int] | None = None
        self._cautious = False
        self._started = dict.fromkeys(Lane, 0)  # ends: nothing from here on was started; only while cautious
        self._closed = False
        self._asked = False
        self._sent = dict.fromkeys(Lane, CLEAN)
        self._committed = dict.fromkeys(Lane, CLEAN)
        for lane, one in (found or {}).items():
            self._convict(lane, one)

    def _convict(self, lane: Lane, found: Marks) -> None:
        alone = found.alone if self.died else None
        for offset in (found.convicted, alone):
            if offset is not None:
                again = alone == found.convicted
                self._convictions[lane, offset] = Conviction(self.deaths, readable=not again)
                self._suspects[lane] = max(self._suspects.get(lane, 0), offset + 1)

    @classmethod
    def restored(
        cls, marks: Mapping[Lane, Marks], begins: Mapping[Lane, int], ends: Mapping[Lane, int], *, own: bool
    ) -> Self:
        """From the committed maps. `own`: their stamp is of this process.

        Nothing below `begins` is unfinished, nothing from `ends` on was started by anyone.
        """
        found = {lane: marks.get(lane, CLEAN) for lane in begins}
        deaths = max((one.deaths for one in found.values()), default=0)
        if own or not any(one.unclean for one in found.values()):
            return cls(deaths, {lane: min(one.suspects or 0, ends[lane]) for lane, one in found.items()}, found)
        started = {
            lane: min(one.started if one.started is not None else ends[lane], ends[lane]) for lane, one in found.items()
        }
        if not any(started[lane] > begin for lane, begin in begins.items()):
            return cls(deaths, {lane: min(one.suspects or 0, ends[lane]) for lane, one in found.items()}, found)
        return cls(min(MOST_DEATHS, deaths + 1), started, found, died=True)

    # -- what is asked about a record

    def urgency(self, lane: Lane, offset: int) -> int:
        """Of a suspect, the deaths that it is suspected of: more go first. 0: it is none."""
        if offset >= self._suspects.get(lane, 0):
            return 0
        return self.deaths + (self.conviction(lane, offset) is not None)

    def conviction(self, lane: Lane, offset: int) -> Conviction | None:
        return self._convictions.get((lane, offset))

    def may_start(self, lane: Lane, offset: int, *, alone: bool) -> bool:
        """May this record start now? The newest maps, committed and on their way, say that it may have been."""
        committed, sent = self._committed[lane], self._sent[lane]
        if alone and not committed.alone == sent.alone == offset:
            return False
        return committed.allows(offset) and sent.allows(offset)

    @property
    def says_alone(self) -> bool:
        """Does a map of this partition say that a record is alone, or will the next one?"""
        maps = (*self._committed.values(), *self._sent.values())
        return self._alone is not None or any(one.alone is not None for one in maps)

    def suspects_end(self, lane: Lane) -> int:
        return self._suspects.get(lane, 0)

    # -- what happens

    def be_cautious(self, taken: Mapping[Lane, int]) -> None:
        """From now on what is started is said one by one; until now it may have been all below `taken`."""
        self._cautious = True
        for lane, end in taken.items():
            self._started[lane] = max(self._started[lane], end)

    def be_free(self) -> None:
        """Nothing in the process is suspected any more."""
        self._cautious = False

    def to_start(self, lane: Lane, offset: int, *, alone: bool = False) -> bool:
        """This record is to start, or runs already. True: a transaction is needed that says so."""
        self._started[lane] = max(self._started[lane], offset + 1)
        if alone:
            self._alone = (lane, offset)
        return self.ask()

    def ask(self) -> bool:
        """Something has changed. True: a transaction is needed, and none that was asked for is still to be built."""
        asked, self._asked = self._asked, True
        return not asked

    def finished(self, lane: Lane, offset: int) -> None:
        """This record runs no more, and its end goes into one of the next transactions."""
        self._convictions.pop((lane, offset), None)
        if self._alone == (lane, offset):
            self._alone = None

    def put_back(self) -> None:
        """The record that is alone does not start after all."""
        self._alone = None

    def settle(self, watermarks: Mapping[Lane, int]) -> bool:
        """True: the last suspect is done, and with it the deaths are forgotten."""
        if not self.deaths or any(watermarks[lane] < end for lane, end in self._suspects.items()):
            return False
        self.deaths = 0
        self._suspects.clear()
        self._convictions.clear()
        return True

    def close(self) -> None:
        """The owner leaves in an orderly way. Suspects stay what they are: nobody died."""
        self._closed = True
        self._alone = None

    # -- transactions

    def sending(self) -> Mapping[Lane, Marks]:
        """The marks of the transaction that is built now."""
        self._asked = False
        self._sent = {lane: self._marks(lane) for lane in Lane}
        return self._sent

    def committed(self) -> None:
        """That transaction has committed."""
        self._committed = self._sent

    def _marks(self, lane: Lane) -> Marks:
        owner = not self._closed
        return Marks(
            unclean=owner,
            deaths=self.deaths,
            suspects=self._suspects.get(lane),
            started=self._started[lane] if owner and self._cautious else None,
            alone=self._alone[1] if self._alone is not None and self._alone[0] is lane else None,
            convicted=next((offset for where, offset in self._convictions if where is lane), None),
        )
