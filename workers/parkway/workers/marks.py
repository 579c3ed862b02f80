"""What a map says beside the completed offsets: how its owner left the partition, and who is suspected (DESIGN 7.1).

In a map's string: items of one letter and a number, in any order, separated by commas. A reader ignores letters that
it does not know.
"""

from dataclasses import dataclass
from typing import Final, Self

MOST_DEATHS: Final = 99  # more are not told apart


class MarksError(ValueError):
    """A text that is no marks."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Of one lane. Offsets are absolute.

    `unclean`: an owner is at work; when another one finds this, it has died. `deaths`: in a row, before it.
    `suspects`: what is unfinished below is suspected of them; None: nothing is.
    `started`: the owner starts nothing from here on; None: it may have started everything up to the largest span.
    `alone`: this record runs, and nothing else in the process. `convicted`: this one died alone, and has not ended yet.
    """

    unclean: bool = False
    deaths: int = 0
    suspects: int | None = None
    started: int | None = None
    alone: int | None = None
    convicted: int | None = None

    def allows(self, offset: int) -> bool:
        """May the owner start this record, now that these marks are committed?"""
        return self.unclean and (self.started is None or offset < self.started)

    def to_text(self) -> str:
        numbers = {
            "u": 1 if self.unclean else None,
            "d": min(self.deaths, MOST_DEATHS) or None,
            "s": self.suspects,
            "l": self.started,
            "a": self.alone,
            "c": self.convicted,
        }
        return ",".join(f"{letter}{number}" for letter, number in numbers.items() if number is not None)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote. Raises MarksError for anything else, whatever it is."""
        found: dict[str, int] = {}
        for item in text.split(",") if text else []:
            digits = item[1:]
            if item[:1] not in _LETTERS:
                continue
            if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
                raise MarksError(f"{item[:40]!r} is no mark")
            found[item[0]] = int(digits)
        return cls(
            unclean=bool(found.get("u")),
            deaths=min(found.get("d", 0), MOST_DEATHS),
            suspects=found.get("s"),
            started=found.get("l"),
            alone=found.get("a"),
            convicted=found.get("c"),
        )


_LETTERS: Final = frozenset("udslac")
_MOST_DIGITS: Final = 19  # of an offset
_MOST: Final = 10**_MOST_DIGITS - 1
LONGEST_TEXT: Final = len(Marks(True, MOST_DEATHS, _MOST, _MOST, _MOST, _MOST).to_text())
CLEAN: Final = Marks()
