"""`+ - * / %` and the unary minus. No number type is ever converted; what overflows is an error."""

import math
from typing import Any

from parkway.router.cel.errors import CelError
from parkway.router.cel.times import checked_duration, checked_timestamp
from parkway.router.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    Timestamp,
    UInt,
    is_int,
    no_overload,
    normalise,
)


def add(left: Any, right: Any) -> Any:
    if left.__class__ is float and right.__class__ is float:
        return left + right
    left, right = normalise(left), normalise(right)
    if _both_int(left, right):
        return _int(left + right)
    if isinstance(left, UInt) and isinstance(right, UInt):
        return _uint(int(left) + int(right))
    for python_type in (float, str, list, bytes):
        if isinstance(left, python_type) and isinstance(right, python_type):
            return left + right  # type: ignore[operator]
    match left, right:
        case Timestamp(), Duration():
            return checked_timestamp(left.nanoseconds + right.nanoseconds)
        case Duration(), Timestamp():
            return checked_timestamp(left.nanoseconds + right.nanoseconds)
        case Duration(), Duration():
            return checked_duration(left.nanoseconds + right.nanoseconds)
        case _:
            raise no_overload("+", left, right)


def subtract(left: Any, right: Any) -> Any:
    if left.__class__ is float and right.__class__ is float:
        return left - right
    left, right = normalise(left), normalise(right)
    if _both_int(left, right):
        return _int(left - right)
    match left, right:
        case UInt(), UInt():
            return _uint(int(left) - int(right))
        case float(), float():
            return left - right
        case Timestamp(), Timestamp():
            return checked_duration(left.nanoseconds - right.nanoseconds)
        case Timestamp(), Duration():
            return checked_timestamp(left.nanoseconds - right.nanoseconds)
        case Duration(), Duration():
            return checked_duration(left.nanoseconds - right.nanoseconds)
        case _:
            raise no_overload("-", left, right)


def multiply(left: Any, right: Any) -> Any:
    if left.__class__ is float and right.__class__ is float:
        return left * right
    left, right = normalise(left), normalise(right)
    if _both_int(left, right):
        return _int(left * right)
    match left, right:
        case UInt(), UInt():
            return _uint(int(left) * int(right))
        case float(), float():
            return left * right
        case _:
            raise no_overload("*", left, right)


def divide(left: Any, right: Any) -> Any:
    """Integers truncate toward zero and refuse a zero; doubles follow IEEE 754."""
    left, right = normalise(left), normalise(right)
    if _both_int(left, right):
        return _int(_truncated(left, _nonzero(right)))
    match left, right:
        case UInt(), UInt():
            return _uint(int(left) // int(_nonzero(right)))
        case float(), float():
            return _divide_doubles(left, right)
        case _:
            raise no_overload("/", left, right)


def remainder(left: Any, right: Any) -> Any:
    """The sign is that of the left operand, so that `(a / b) * b + a % b == a`."""
    left, right = normalise(left), normalise(right)
    if _both_int(left, right):
        quotient = _int(_truncated(left, _nonzero(right)))
        return left - quotient * right
    if isinstance(left, UInt) and isinstance(right, UInt):
        return UInt(int(left) % int(_nonzero(right)))
    raise no_overload("%", left, right)


def negate(operand: Any) -> Any:
    operand = normalise(operand)
    if is_int(operand):
        return _int(-operand)
    if isinstance(operand, float):
        return -operand
    raise no_overload("-", operand)


def _both_int(left: Any, right: Any) -> bool:
    return is_int(left) and is_int(right)


def _int(value: int) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise CelError("the integer overflows")
    return value


def _uint(value: int) -> UInt:
    if not 0 <= value <= UINT_MAX:
        raise CelError("the unsigned integer overflows")
    return UInt(value)


def _nonzero(value: int) -> int:
    if value == 0:
        raise CelError("division by zero")
    return value


def _truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)
