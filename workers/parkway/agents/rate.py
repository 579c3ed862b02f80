"""`RateLimit`: how often something may begin, in the whole installation."""

import re
from dataclasses import dataclass
from typing import Final

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TEXT: Final = re.compile(r"(\d+)/([smhd])")
_BURST_SECONDS: Final = 6.0


@dataclass(frozen=True, slots=True)
class RateLimit:
    """`RateLimit(100, per=60)` or, as text, `"100/m"`: at most 100 a minute (`s`, `m`, `h`, `d`).

    Raises ValueError for values that make no sense.
    """

    times: int
    per: float

    def __post_init__(self) -> None:
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1 or self.per <= 0:
            raise ValueError(f"RateLimit({self.times!r}, per={self.per!r}): at least 1, and seconds more than 0")

    @classmethod
    def of(cls, given: "RateLimit | str") -> "RateLimit":
        """Read the text form. Raises ValueError that shows it."""
        if isinstance(given, RateLimit):
            return given
        found = _TEXT.fullmatch(given) if isinstance(given, str) else None
        if found is None:
            raise ValueError(f"rate {given!r}: a number and s, m, h or d, such as '100/m', or RateLimit(100, per=60)")
        return cls(int(found[1]), _SECONDS[found[2]])

    @property
    def per_second(self) -> float:
        return self.times / self.per

    @property
    def burst(self) -> float:
        """How many may begin at once after a pause: what comes in six seconds, and never more than `times`."""
        return self.times * min(1.0, _BURST_SECONDS / self.per)
