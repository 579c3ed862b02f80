"""What a doctor says: one line a finding, and how to mend it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Level(Enum):
    """In the order of urgency. UNKNOWN: it could not be asked, mostly for a missing right."""

    OK = "ok"
    UNKNOWN = "?"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """`area`: brokers, topics, rights, plan, groups, clock, settings, probe. `mend`: what to do."""

    level: Level
    area: str
    text: str
    mend: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "level": self.level.value if self.level is not Level.UNKNOWN else "unknown"}


Findings = Iterator[Finding]


def ok(area: str, text: str) -> Finding:
    return Finding(Level.OK, area, text)


def unknown(area: str, text: str, mend: str | None = None) -> Finding:
    return Finding(Level.UNKNOWN, area, text, mend)


def warning(area: str, text: str, mend: str) -> Finding:
    return Finding(Level.WARNING, area, text, mend)


def wrong(area: str, text: str, mend: str) -> Finding:
    return Finding(Level.WRONG, area, text, mend)
