"""The functions of the language: how each is called, what it takes and gives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from parkway.router.cel import conversions
from parkway.router.cel.kinds import Kind
from parkway.router.cel.regexes import matches
from parkway.router.cel.times import CALENDAR_PARTS, DURATION_PARTS, calendar_part
from parkway.router.cel.values import no_overload


@dataclass(frozen=True, slots=True)
class Function:
    """`global_form`: callable as `f(x)`. `receiver_form`: callable as `x.f()`, with x as first argument.

    `takes` are the kinds that each argument accepts; the last `optional` ones may be left out.
    """

    name: str
    call: Callable[..., Any]
    result: Kind
    takes: tuple[frozenset[Kind], ...]
    optional: int = 0
    global_form: bool = True
    receiver_form: bool = False

    @property
    def form(self) -> str:
        """How to write it, for error messages."""
        if self.receiver_form and not self.global_form:
            return f"x.{self.name}({', '.join('y' for _ in self.takes[1 + self.optional :])})"
        return f"{self.name}({', '.join('xy'[: len(self.takes) - self.optional])})"

    def accepts(self, count: int) -> bool:
        return len(self.takes) - self.optional <= count <= len(self.takes)


def size(value: Any) -> int:
    """Of a string in code points, of bytes in bytes, of a list in elements, of a map in entries."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise no_overload("size", value)


def contains(text: Any, part: Any) -> bool:
    return _string(text, "contains", part).find(part) >= 0


def starts_with(text: Any, part: Any) -> bool:
    return _string(text, "startsWith", part).startswith(part)


def ends_with(text: Any, part: Any) -> bool:
    return _string(text, "endsWith", part).endswith(part)


def _string(text: Any, function: str, part: Any) -> str:
    if isinstance(text, str) and isinstance(part, str):
        return text
    raise no_overload(function, text, part)


def _kinds(*kinds: Kind) -> frozenset[Kind]:
    return frozenset((*kinds, Kind.DYN, Kind.OTHER))


_STRING = _kinds(Kind.STRING)
_NUMBER = (Kind.INT, Kind.UINT, Kind.DOUBLE)
_ANY = frozenset(Kind) - {Kind.NEVER}


def _conversion(name: str, call: Callable[[Any], Any], result: Kind, *takes: Kind) -> Function:
    return Function(name, call, result, (_kinds(*takes) if takes else _ANY,))


def _string_test(name: str, call: Callable[[Any, Any], bool]) -> Function:
    return Function(name, call, Kind.BOOL, (_STRING, _STRING), global_form=False, receiver_form=True)


def _calendar(name: str) -> Function:
    takes = (Kind.TIMESTAMP, Kind.DURATION) if name in DURATION_PARTS else (Kind.TIMESTAMP,)
    return Function(
        name,
        calendar_part(name),
        Kind.INT,
        (_kinds(*takes), _STRING),
        optional=1,
        global_form=False,
        receiver_form=True,
    )


_ALL = (
    Function("size", size, Kind.INT, (_kinds(Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP),), receiver_form=True),
    _string_test("contains", contains),
    _string_test("startsWith", starts_with),
    _string_test("endsWith", ends_with),
    Function("matches", matches, Kind.BOOL, (_STRING, _STRING), receiver_form=True),
    _conversion("int", conversions.to_int, Kind.INT, *_NUMBER, Kind.STRING, Kind.TIMESTAMP),
    _conversion("uint", conversions.to_uint, Kind.UINT, *_NUMBER, Kind.STRING),
    _conversion("double", conversions.as_double, Kind.DOUBLE, *_NUMBER, Kind.STRING),
    _conversion(
        "string",
        conversions.to_string,
        Kind.STRING,
        *_NUMBER,
        Kind.BOOL,
        Kind.STRING,
        Kind.BYTES,
        Kind.TIMESTAMP,
        Kind.DURATION,
    ),
    _conversion("bytes", conversions.to_bytes, Kind.BYTES, Kind.STRING, Kind.BYTES),
    _conversion("bool", conversions.to_bool, Kind.BOOL, Kind.BOOL, Kind.STRING),
    _conversion("timestamp", conversions.to_timestamp, Kind.TIMESTAMP, Kind.INT, Kind.STRING, Kind.TIMESTAMP),
    _conversion("duration", conversions.to_duration, Kind.DURATION, Kind.STRING, Kind.DURATION),
    _conversion("dyn", conversions.to_dyn, Kind.DYN),
    _conversion("type", conversions.type_of, Kind.TYPE),
    *(_calendar(name) for name in sorted(CALENDAR_PARTS)),
)
FUNCTIONS: Final[dict[str, Function]] = {function.name: function for function in _ALL}

# Comprehension macros are not part of the language: what to write instead.
MACROS: Final[dict[str, str]] = {
    "exists": "write `'x' in list` for a membership test, or decide in the action's code",
    "exists_one": "write `'x' in list` for a membership test, or decide in the action's code",
    "all": "test the elements by index, as in `list[0] == 'x'`, or decide in the action's code",
    "map": "test the elements by index, as in `list[0].id == 'x'`, or decide in the action's code",
    "filter": "write `'x' in list` or test by index, as in `list[0].id == 'x'`, or decide in the action's code",
}
