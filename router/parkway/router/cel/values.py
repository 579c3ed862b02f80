"""CEL values as Python values, and the operators on them.

| CEL | Python |
| --- | --- |
| null, bool, int, double, string, bytes, list | None, bool, int, float, str, bytes, list |
| uint | `UInt` |
| map | dict; a boolean key is kept as `("bool", key)`, as Python takes `True` for `1` |
| timestamp, duration, type | `Timestamp`, `Duration`, `CelType` |

JSON integers outside int64 are doubles in CEL. They stay Python integers in the event, so every function
here that can tell the difference takes them through `normalise` first.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

from parkway.router.cel.errors import CelError

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
# Below this an integer and its double are the same number, whatever the conversion.
EXACT_DOUBLE: Final = 2**53


class UInt(int):
    """A CEL uint: arithmetic with its like only, comparison by value."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """Nanoseconds since 1970-01-01T00:00:00Z."""

    nanoseconds: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class CelType:
    """The value of `type(x)`; can only be compared."""

    name: str


def type_name(value: Any) -> str:
    """CEL's name of the type of a value."""
    for python_type, name in _TYPE_NAMES:
        if isinstance(value, python_type):
            return name
    return type(value).__name__


_TYPE_NAMES: Final = (
    (type(None), "null_type"),
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (Timestamp, "timestamp"),
    (Duration, "duration"),
    (CelType, "type"),
)


def normalise(value: Any) -> Any:
    """A JSON integer outside int64 becomes a double; everything else is what it is."""
    if value.__class__ is int and not INT_MIN <= value <= INT_MAX:
        return to_double(value)
    return value


def to_double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool | UInt)


def equals(left: Any, right: Any) -> bool:
    """`==`: numbers by value across their types, everything else only within its type."""
    if left.__class__ is str or _are_plain_numbers(left, right):
        return bool(left == right)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_number(left):
        return is_number(right) and _same_number(left, right)
    if isinstance(left, list):
        return isinstance(right, list) and _same_list(left, right)
    if isinstance(left, dict):
        return isinstance(right, dict) and _same_map(left, right)
    return bool(left == right)


def not_equals(left: Any, right: Any) -> bool:
    return not equals(left, right)


def _same_number(left: Any, right: Any) -> bool:
    left, right = _comparable(normalise(left), normalise(right))
    return bool(left == right)


def _comparable(left: float, right: float) -> tuple[float, float]:
    """An integer against a double is compared as a double, as the CEL conformance tests ask."""
    if isinstance(left, float) != isinstance(right, float):
        return float(left), float(right)
    return left, right


def _same_list(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(map(equals, left, right))


def _same_map(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    return len(left) == len(right) and all(key in right and equals(value, right[key]) for key, value in left.items())


def less(left: Any, right: Any) -> bool:
    """`<`: numbers across their types; strings, bytes, booleans, timestamps, durations with their like."""
    left, right = _ordered("<", left, right)
    return bool(left < right)


def less_or_equal(left: Any, right: Any) -> bool:
    left, right = _ordered("<=", left, right)
    return bool(left <= right)


def greater(left: Any, right: Any) -> bool:
    left, right = _ordered(">", left, right)
    return bool(left > right)


def greater_or_equal(left: Any, right: Any) -> bool:
    left, right = _ordered(">=", left, right)
    return bool(left >= right)


def _are_plain_numbers(left: Any, right: Any) -> bool:
    """Whether Python compares them as CEL does."""
    return (
        type(left) in _PLAIN_NUMBERS
        and type(right) in _PLAIN_NUMBERS
        and -EXACT_DOUBLE < left < EXACT_DOUBLE
        and -EXACT_DOUBLE < right < EXACT_DOUBLE
    )


_PLAIN_NUMBERS: Final[frozenset[type]] = frozenset({int, float})


def _ordered(operator: str, left: Any, right: Any) -> tuple[Any, Any]:
    if _are_plain_numbers(left, right):
        return left, right
    if is_number(left) and is_number(right):
        return _comparable(normalise(left), normalise(right))
    for python_type in _ORDERED:
        if isinstance(left, python_type) and isinstance(right, python_type):
            return left, right
    raise no_overload(operator, left, right)


_ORDERED: Final = (str, bool, bytes, Timestamp, Duration)


def contains_item(item: Any, container: Any) -> bool:
    """`item in container`: the elements of a list, the keys of a map."""
    if isinstance(container, list):
        return any(equals(item, element) for element in container)
    if isinstance(container, dict) and (item is not None and isinstance(item, _KEY_TYPES)):
        return map_key(normalise(item)) in container
    raise no_overload("in", item, container)


def scalar_key(value: Any) -> Any:
    """A key that is equal in Python exactly when small numbers, strings, booleans and null are equal in CEL.

    Only for values that are no number of 2^53 or more on one of the two sides.
    """
    return ("bool", value) if isinstance(value, bool) else value


def is_indexable_scalar(value: Any) -> bool:
    """Whether `scalar_key` of this constant is exact against every value."""
    if value is None or isinstance(value, bool | str):
        return True
    return is_number(value) and abs(value) < EXACT_DOUBLE


def item(container: Any, index: Any) -> Any:
    """`container[index]`."""
    index = normalise(index)
    if isinstance(container, list):
        return normalise(_list_item(container, index))
    if isinstance(container, dict):
        if index is None or not isinstance(index, _KEY_TYPES):
            raise CelError(f"a map has no keys of type {type_name(index)}")
        key = map_key(index)
        if key not in container:
            raise CelError("no such key")
        return normalise(container[key])
    raise CelError(f"{type_name(container)} has no index")


def field(container: Any, name: str) -> Any:
    """`container.name`."""
    if not isinstance(container, dict):
        raise CelError(f"{type_name(container)} has no field {name!r}")
    if name not in container:
        raise CelError(f"no such field {name!r}")
    return normalise(container[name])


def has_field(container: Any, name: str) -> bool:
    return isinstance(container, dict) and name in container


def _list_item(container: list[Any], index: Any) -> Any:
    if isinstance(index, float) and index.is_integer():
        index = int(index)
    if isinstance(index, bool) or not isinstance(index, int):
        raise CelError(f"a list has no index of type {type_name(index)}")
    if not 0 <= index < len(container):
        raise CelError(f"an index is out of range of a list of {len(container)}")
    return container[index]


_KEY_TYPES: Final = (bool, int, float, str)


def map_key(key: Any) -> Any:
    return ("bool", key) if isinstance(key, bool) else key


def new_map(entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """A map literal. Keys are strings, integers or booleans, each once."""
    result: dict[Any, Any] = {}
    for key, value in entries:
        normal = normalise(key)
        if not isinstance(normal, bool | int | str):
            raise CelError(f"a map key cannot be {type_name(normal)}")
        if map_key(normal) in result:
            raise CelError("a map key stands twice")
        result[map_key(normal)] = value
    return result


def no_overload(operator: str, *operands: Any) -> CelError:
    return CelError(f"`{operator}` does not take {' and '.join(map(type_name, operands))}")
