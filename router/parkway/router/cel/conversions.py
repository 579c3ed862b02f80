"""`int`, `uint`, `double`, `string`, `bytes`, `bool`, `timestamp`, `duration`, `dyn`, `type`."""

import math
import re
from typing import Any, Final

from parkway.router.cel.errors import CelError
from parkway.router.cel.times import (
    from_seconds,
    read_duration,
    read_timestamp,
    whole_seconds,
    write_duration,
    write_timestamp,
)
from parkway.router.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    CelType,
    Duration,
    Timestamp,
    UInt,
    is_int,
    no_overload,
    normalise,
    to_double,
    type_name,
)

_INTEGER = re.compile(r"[+-]?[0-9]{1,25}")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)")
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "true", "True", "TRUE"), True),
    **dict.fromkeys(("0", "f", "false", "False", "FALSE"), False),
}
_SHORTEST_DIGITS: Final = 6  # a decimal exponent from here on, or below -4, is written with an `e`


def to_int(value: Any) -> int:
    """Doubles truncate toward zero; timestamps give seconds since the epoch."""
    value = normalise(value)
    if isinstance(value, bool):
        raise no_overload("int", value)
    match value:
        case int():
            return _in_range("int", int(value), INT_MIN, INT_MAX)
        case float():
            return _truncate("int", value, low=float(INT_MIN), high=float(INT_MAX))
        case str():
            return _in_range("int", _read_integer("int", value), INT_MIN, INT_MAX)
        case Timestamp():
            return whole_seconds(value)
        case _:
            raise no_overload("int", value)


def to_uint(value: Any) -> UInt:
    value = normalise(value)
    if isinstance(value, bool):
        raise no_overload("uint", value)
    match value:
        case int():
            return UInt(_in_range("uint", int(value), 0, UINT_MAX))
        case float():
            if value < 0:
                raise CelError("a number is outside uint")
            return UInt(_truncate("uint", value, low=-1.0, high=float(UINT_MAX)))
        case str() if value.startswith("-"):
            raise CelError("a string is no uint")
        case str():
            return UInt(_in_range("uint", _read_integer("uint", value), 0, UINT_MAX))
        case _:
            raise no_overload("uint", value)


def as_double(value: Any) -> float:
    if isinstance(value, bool):
        raise no_overload("double", value)
    match value:
        case int():
            return to_double(value)
        case float():
            return value
        case str() if _DOUBLE.fullmatch(value.lower()):
            return float(value)
        case str():
            raise CelError("a string is no double")
        case _:
            raise no_overload("double", value)


def to_string(value: Any) -> str:
    value = normalise(value)
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return _write_double(value)
        case str():
            return value
        case bytes():
            return _decode(value)
        case Timestamp():
            return write_timestamp(value)
        case Duration():
            return write_duration(value)
        case _:
            raise no_overload("string", value)


def to_bytes(value: Any) -> bytes:
    match value:
        case str():
            return value.encode()
        case bytes():
            return value
        case _:
            raise no_overload("bytes", value)


def to_bool(value: Any) -> bool:
    match value:
        case bool():
            return value
        case str() if value in _BOOLEANS:
            return _BOOLEANS[value]
        case str():
            raise CelError("a string is no boolean")
        case _:
            raise no_overload("bool", value)


def to_timestamp(value: Any) -> Timestamp:
    """From RFC 3339 text, or from integer seconds since the epoch."""
    value = normalise(value)
    if is_int(value):
        return from_seconds(value)
    match value:
        case Timestamp():
            return value
        case str():
            return read_timestamp(value)
        case _:
            raise no_overload("timestamp", value)


def to_duration(value: Any) -> Duration:
    match value:
        case Duration():
            return value
        case str():
            return read_duration(value)
        case _:
            raise no_overload("duration", value)


def to_dyn(value: Any) -> Any:
    return normalise(value)


def type_of(value: Any) -> CelType:
    return CelType(type_name(normalise(value)))


def _in_range(name: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise CelError(f"a number is outside {name}")
    return value


def _truncate(name: str, value: float, *, low: float, high: float) -> int:
    if math.isnan(value) or not low < value < high:
        raise CelError(f"a number is outside {name}")
    return math.trunc(value)


def _read_integer(name: str, text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise CelError(f"a string is no {name}")
    return int(text)


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise CelError("the bytes are not UTF-8") from error


def _write_double(value: float) -> str:
    """The shortest decimal that reads back as the same double, in C's `%g` layout."""
    if math.isnan(value) or math.isinf(value):
        return str(value)
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    digits, exponent = _digits(abs(value))
    if -4 <= exponent < _SHORTEST_DIGITS:
        return sign + _positional(digits, exponent)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _digits(value: float) -> tuple[str, int]:
    """Significant digits and the decimal exponent of the first one."""
    if not value:
        return "0", 0
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    both = (whole + fraction).lstrip("0")
    first = len(whole) - 1 if whole.strip("0") else -(len(fraction) - len(fraction.lstrip("0")) + 1)
    return both.rstrip("0"), first + int(exponent or "0")


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
