"""The lives of the process: when it dies, and which life a client belongs to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from parkway.runtime.records import Record

Side = Literal["before", "after"]


class DiedError(Exception):
    """The process is dead; nothing of it reaches the log any more."""


@dataclass(frozen=True, slots=True)
class Death:
    """Just before or after the commit of that number, counted from 1 over all lives."""

    commit: int
    side: Side

    def __str__(self) -> str:
        return f"just {self.side} commit {self.commit}"


@dataclass(slots=True)
class Lives:
    """`death`: where the process is to die, once. `commits` says what was committed, for people.

    `on_death` is called in that moment: nothing of the process may run on.
    """

    death: Death | None = None
    on_death: Callable[[], None] = lambda: None
    current: int = 0
    dead: bool = False
    commits: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Another process starts."""
        self.current += 1
        self.dead = False

    def before_commit(self, life: int) -> None:
        if self.dead or life != self.current:
            raise DiedError
        if self.death == Death(len(self.commits) + 1, "before"):
            self._die()

    def after_commit(self, life: int, group: str, records: Sequence[Record]) -> None:
        assert life == self.current
        topics = sorted({record.topic for record in records})
        self.commits.append(f"of {group}: {', '.join(topics) or 'offsets only'}")
        if self.death == Death(len(self.commits), "after"):
            self._die()

    def _die(self) -> None:
        self.death = None
        self.dead = True
        self.on_death()
        raise DiedError
