"""JSON between bytes and Python, for untrusted bytes: limits first, no recursion error, no changed number."""

import json
import re
from decimal import Decimal
from typing import Any, Final

import orjson
import re2

from parkway.schemas.errors import DlqReason
from parkway.schemas.limits import Limits

MAX_DEPTH: Final = Limits().max_event_depth
PARSER_DEPTH: Final = 1024  # orjson refuses what nests deeper

# What orjson may write differently from what it read: 16 digits and more, an exponent, a negative zero. A match
# inside a string only costs time. By RE2, whose automaton reads a large document several times faster than `re`.
_BYTES: Final = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1
_LONG_NUMBER: Final = re2.compile(rb"[:,\[ \n\r\t](?:-0|[-0-9](?:[0-9.]{15}|[0-9.]*[eE]))", _BYTES)
_NUMBER_STARTS: Final = b"-0123456789"


class JsonError(ValueError):
    """Bytes that are no JSON, or JSON beyond a limit. `reason` (the word for the DLQ) tells them apart."""

    def __init__(self, message: str, reason: DlqReason = DlqReason.INVALID_JSON) -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def too_deep(self) -> bool:
        return self.reason is DlqReason.TOO_DEEP


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
            raise JsonError(f"nested deeper than {max_depth} levels", DlqReason.TOO_DEEP) from None
        raise JsonError(f"not JSON: {error}") from None
    if max_depth >= PARSER_DEPTH:
        return value
    # Counting brackets is a fraction of the walk's cost, and few of them cannot nest deep.
    if isinstance(data, bytes) and _opening_brackets(data) <= max_depth:
        return value
    check_depth(value, max_depth)
    return value


def loads_limited(data: bytes, limits: Limits) -> Any:
    """Decode JSON within `limits`. Raises JsonError that names the setting of the limit that was passed."""
    if len(data) > limits.max_event_bytes:
        message = f"{len(data)} bytes, the limit is {limits.max_event_bytes} (max_event_bytes)"
        raise JsonError(message, DlqReason.TOO_LARGE)
    try:
        value = loads(data, max_depth=limits.max_event_depth)
    except JsonError as error:
        if not error.too_deep:
            raise
        raise JsonError(f"{error} (max_event_depth)", DlqReason.TOO_DEEP) from None
    # A string is no longer than the document, and a map or list has no more members than that has commas.
    if len(data) > limits.max_string_chars or data.count(b",") >= limits.max_members:
        _check_sizes(value, limits)
    return value


def _check_sizes(value: Any, limits: Limits) -> None:
    level = [value]
    while level:
        below: list[Any] = []
        for node in level:
            if isinstance(node, str):
                if len(node) > limits.max_string_chars:
                    message = f"a string of {len(node)} characters, the limit is {limits.max_string_chars}"
                    raise JsonError(f"{message} (max_string_chars)", DlqReason.TOO_LARGE)
            elif isinstance(node, dict | list):
                if len(node) > limits.max_members:
                    kind = "map" if isinstance(node, dict) else "list"
                    message = f"a {kind} of {len(node)} members, the limit is {limits.max_members}"
                    raise JsonError(f"{message} (max_members)", DlqReason.TOO_LARGE)
                below += node
                if isinstance(node, dict):
                    below += node.values()
        level = below


def check_depth(value: Any, max_depth: int = MAX_DEPTH) -> None:
    """Raise JsonError when lists and maps in `value` nest deeper than `max_depth` levels."""
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > max_depth:
            raise JsonError(f"nested deeper than {max_depth} levels", DlqReason.TOO_DEEP)
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]


def loads_for_writing(data: bytes, value: Any) -> Any:
    """The document of `value = loads(data)` in a form that `dumps` writes with every number as it came."""
    if not _has_long_number(data):
        return value
    return json.loads(data, parse_float=orjson.Fragment, parse_int=orjson.Fragment)


def loads_exact(data: bytes, value: Any) -> Any:
    """The document of `value = loads(data)`, with a Fragment for each number that int and float do not hold exactly."""
    if not _has_long_number(data):
        return value
    return json.loads(data, parse_float=_exact_float, parse_int=_exact_int)


def _has_long_number(data: bytes) -> bool:
    return data[:1] in _NUMBER_STARTS or _LONG_NUMBER.search(data) is not None


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
