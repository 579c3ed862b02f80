"""Lengths of time as people write and read them."""

import re
from typing import Final

from parkway.schemas.errors import ParkwayError

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")


class DurationError(ParkwayError):
    """Text that is no length of time."""


def parse_duration(text: str, option: str) -> float:
    """`90`, `90s`, `10m`, `2h`, `1d` -> seconds. Raises DurationError that names `option`."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise DurationError(f"{option} {text!r}: write a time such as 90s, 10m, 2h or 1d")
    return float(match[1]) * _UNITS[match[2] or "s"]


def duration(seconds: float) -> str:
    """Seconds -> `42s`, `10m 5s`, `3h 12m`, `2d 4h`; what is past begins with a minus."""
    sign, left = ("-", -int(seconds)) if seconds < 0 else ("", int(seconds))
    for unit, lower in (("d", "h"), ("h", "m"), ("m", "s")):
        size = _UNITS[unit]
        if left >= size:
            rest = left % size // _UNITS[lower]
            return f"{sign}{left // size}{unit}" + (f" {rest}{lower}" if rest else "")
    return f"{sign}{left}s"
