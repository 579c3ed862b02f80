"""Timestamps (years 1 to 9999) and durations, to the nanosecond.

A duration is written with up to 10,000 years; what arithmetic gives must fit into int64, as in the C++ and Go
runtimes.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from parkway.router.cel.errors import CelError
from parkway.router.cel.values import INT_MAX, INT_MIN, Duration, Timestamp, no_overload

_SECOND: Final = 1_000_000_000
_FIRST_SECOND: Final = -62_135_596_800  # 0001-01-01T00:00:00Z
_LAST_SECOND: Final = 253_402_300_799  # 9999-12-31T23:59:59Z
_LONGEST_SECONDS: Final = 315_576_000_000

_TIMESTAMP = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})[Tt](?P<time>\d{2}:\d{2}:\d{2})(?:\.(?P<fraction>\d{1,9}))?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<hours>[01]\d|2[0-3]):(?P<minutes>[0-5]\d))",
    re.ASCII,
)
_DURATION = re.compile(r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns))+|[+-]?0", re.ASCII)
_DURATION_PART = re.compile(r"(\d*)\.?(\d*)(h|ms|m|s|us|µs|ns)", re.ASCII)
_UNITS: Final = {
    "h": 3600 * _SECOND,
    "m": 60 * _SECOND,
    "s": _SECOND,
    "ms": 1_000_000,
    "us": 1_000,
    "µs": 1_000,
    "ns": 1,
}
_OFFSET = re.compile(r"(?P<sign>[+-]?)(?P<hours>\d{1,3}):(?P<minutes>\d{1,3})", re.ASCII)
_MAX_DURATION_CHARACTERS: Final = 128
_CALENDAR_CYCLE_YEARS: Final = 400
_CALENDAR_CYCLE: Final = timedelta(days=146_097)


def checked_timestamp(nanoseconds: int) -> Timestamp:
    if not _FIRST_SECOND * _SECOND <= nanoseconds < (_LAST_SECOND + 1) * _SECOND:
        raise CelError("the timestamp is outside the years 1 to 9999")
    return Timestamp(nanoseconds)


def checked_duration(nanoseconds: int) -> Duration:
    """What arithmetic gives fits into int64: 292 years either way."""
    if not INT_MIN <= nanoseconds <= INT_MAX:
        raise CelError("the duration is longer than 292 years")
    return Duration(nanoseconds)


def _longest_duration(nanoseconds: int) -> Duration:
    if abs(nanoseconds) > _LONGEST_SECONDS * _SECOND:
        raise CelError("the duration is longer than 10,000 years")
    return Duration(nanoseconds)


def read_timestamp(text: str) -> Timestamp:
    """RFC 3339, as in `2026-01-31T23:59:59.5+01:00`."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise CelError("a string is no RFC 3339 timestamp")
    try:
        local = datetime.fromisoformat(f"{found['date']}T{found['time']}+00:00")
    except ValueError as error:
        raise CelError("a string is no RFC 3339 timestamp") from error
    offset = timedelta(0) if found["sign"] is None else _offset(found)
    seconds = _whole_seconds(local) - int(offset.total_seconds())
    return checked_timestamp(seconds * _SECOND + int((found["fraction"] or "0").ljust(9, "0")))


def read_duration(text: str) -> Duration:
    """A sum of decimal numbers with the units h, m, s, ms, us, ns, as in `1h30m` or `-1.5s`."""
    if len(text) > _MAX_DURATION_CHARACTERS or not _DURATION.fullmatch(text):
        raise CelError("a string is no duration such as '1h30m' or '-1.5s'")
    total = 0
    for whole, fraction, unit in _DURATION_PART.findall(text):
        if int(whole or "0") > INT_MAX:
            raise CelError("the duration does not fit into int64")
        total += int(whole or "0") * _UNITS[unit]
        total += int(fraction or "0") * _UNITS[unit] // 10 ** len(fraction)
    return _longest_duration(-total if text.startswith("-") else total)


def write_timestamp(value: Timestamp) -> str:
    seconds, nanoseconds = divmod(value.nanoseconds, _SECOND)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return f"{moment.replace(tzinfo=None).isoformat()}{_fraction(nanoseconds)}Z"


def write_duration(value: Duration) -> str:
    seconds, nanoseconds = divmod(abs(value.nanoseconds), _SECOND)
    sign = "-" if value.nanoseconds < 0 else ""
    return f"{sign}{seconds}{_fraction(nanoseconds)}s"


def _fraction(nanoseconds: int) -> str:
    """Nothing, or 3, 6 or 9 digits, as protobuf's JSON form has it."""
    if not nanoseconds:
        return ""
    digits = f"{nanoseconds:09d}"
    for zeros in ("000000", "000"):
        if digits.endswith(zeros):
            return f".{digits[: -len(zeros)]}"
    return f".{digits}"


def whole_seconds(value: Timestamp) -> int:
    """Seconds since the epoch, rounded toward the past."""
    return value.nanoseconds // _SECOND


def from_seconds(seconds: int) -> Timestamp:
    return checked_timestamp(seconds * _SECOND)


def _whole_seconds(moment: datetime) -> int:
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1))


def calendar_part(name: str) -> Callable[..., int]:
    """`getFullYear` and its like: a timestamp and, optionally, a time zone (`Europe/Berlin`, `+02:00`).

    Those of the clock also take a duration, without a zone.
    """
    part = _CALENDAR[name]

    def get(value: Any, *zone: Any) -> int:
        match value, zone:
            case (Timestamp(), ()) | (Timestamp(), (str(),)):
                local, years = _local(value, *zone)
                return part(local) + (years if name == "getFullYear" else 0)
            case Duration(), () if name in _DURATION_PARTS:
                return _DURATION_PARTS[name](value.nanoseconds)
            case _:
                raise no_overload(name, value, *zone)

    return get


def _local(value: Timestamp, zone: str = "UTC") -> tuple[datetime, int]:
    """Date and time in a zone, and years to add: `datetime` ends where zones can still lead on."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value.nanoseconds // 1_000)
    years = {1: -_CALENDAR_CYCLE_YEARS, 9999: _CALENDAR_CYCLE_YEARS}.get(moment.year, 0)
    if years:  # after 400 years the calendar repeats, days of the week included
        moment -= (years // _CALENDAR_CYCLE_YEARS) * _CALENDAR_CYCLE
    if (offset := _OFFSET.fullmatch(zone)) is not None:
        return moment + _offset(offset), years
    return moment.astimezone(_zone(zone)), years


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise CelError("a string is no time zone") from error


def _offset(found: re.Match[str]) -> timedelta:
    size = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
    return -size if found["sign"] == "-" else size


def _toward_zero(nanoseconds: int, unit: int) -> int:
    whole = abs(nanoseconds) // unit
    return whole if nanoseconds >= 0 else -whole


_CALENDAR: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1_000,
}
_DURATION_PARTS: Final[dict[str, Callable[[int], int]]] = {
    "getHours": lambda nanoseconds: _toward_zero(nanoseconds, 3600 * _SECOND),
    "getMinutes": lambda nanoseconds: _toward_zero(nanoseconds, 60 * _SECOND),
    "getSeconds": lambda nanoseconds: _toward_zero(nanoseconds, _SECOND),
    # Of the second only, as the CEL conformance tests ask.
    "getMilliseconds": lambda nanoseconds: (
        _toward_zero(nanoseconds, 1_000_000) - 1_000 * _toward_zero(nanoseconds, _SECOND)
    ),
}
CALENDAR_PARTS: Final = frozenset(_CALENDAR)
DURATION_PARTS: Final = frozenset(_DURATION_PARTS)
