"""JSON between bytes and Python, for untrusted bytes: limits first, no recursion error, no changed number."""

import json
import re
from decimal import Decimal
from typing import Any, Final

import orjson

MAX_DEPTH: Final = 100

# What orjson may write differently from what it read: 16 digits and more, an exponent, a negative zero.
# A match inside a string only costs time.
_LONG_NUMBER: Final = re.compile(rb"(?:\A|[:,\[\s])(?:-0|-?\d[\d.]{15,}|-?\d[\d.]*[eE])")


class JsonError(ValueError):
    """Bytes that are no JSON, or JSON beyond a limit. `too_deep` tells the two apart."""

    def __init__(self, message: str, *, too_deep: bool = False) -> None:
        super().__init__(message)
        self.too_deep = too_deep


def loads(data: bytes | str, *, max_depth: int = MAX_DEPTH) -> Any:
    """Decode JSON. Integers beyond 64 bits come back as floats, of repeated keys the last counts.

    Raises JsonError for what is no JSON, for numbers that are not finite and for nesting beyond `max_depth`.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raw = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
        before = raw[: error.pos + 1]  # where orjson stopped, at 1,024 levels for one
        if _opening_brackets(before) > max_depth and _deeper_than(max_depth, before):
            raise JsonError(f"nested deeper than {max_depth} levels", too_deep=True) from None
        raise JsonError(f"not JSON: {error}") from None
    # Counting brackets is a hundredth of the walk's cost, and few of them cannot nest deep.
    if isinstance(data, bytes) and _opening_brackets(data) <= max_depth:
        return value
    check_depth(value, max_depth)
    return value


def check_depth(value: Any, max_depth: int = MAX_DEPTH) -> None:
    """Raise JsonError when lists and maps in `value` nest deeper than `max_depth` levels."""
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > max_depth:
            raise JsonError(f"nested deeper than {max_depth} levels", too_deep=True)
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]


def loads_for_writing(data: bytes, value: Any) -> Any:
    """The document of `value = loads(data)` in a form that `dumps` writes with every number as it came."""
    if not _LONG_NUMBER.search(data):
        return value
    return json.loads(data, parse_float=orjson.Fragment, parse_int=orjson.Fragment)


def loads_exact(data: bytes, value: Any) -> Any:
    """The document of `value = loads(data)`, with a Fragment for each number that int and float do not hold exactly."""
    if not _LONG_NUMBER.search(data):
        return value
    return json.loads(data, parse_float=_exact_float, parse_int=_exact_int)


def _exact_float(text: str) -> Any:
    number = float(text)
    try:
        same = Decimal(repr(number)) == Decimal(text)
    except ArithmeticError:  # an exponent beyond Decimal's
        same = False
    return number if same else orjson.Fragment(text)


def _exact_int(text: str) -> Any:
    if len(text) < 21 and text != "-0":
        number = int(text)
        if -(2**63) <= number < 2**64:
            return number
    return orjson.Fragment(text)


def dumps(value: Any) -> bytes:
    """Encode to JSON. Raises TypeError for what JSON has no form for (orjson names the type)."""
    return orjson.dumps(value)


def _opening_brackets(data: bytes) -> int:
    return data.count(b"[") + data.count(b"{")


# The closing quote is optional: a string that never ends is consumed once, not searched again from every
# quote in it (minutes of work for a megabyte of untrusted bytes).
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def _deeper_than(limit: int, data: bytes) -> bool:
    depth = 0
    for token in _TOKENS.finditer(data):
        first = data[token.start()]
        if first in b"[{":
            depth += 1
            if depth > limit:
                return True
        elif first in b"]}":
            depth -= 1
    return False
