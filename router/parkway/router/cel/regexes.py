"""`matches`: RE2 (linear time on any text), a partial match."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import re2

from parkway.router.cel.errors import CelError, shortened
from parkway.router.cel.scan import MAX_REGEX_CHARACTERS
from parkway.router.cel.values import no_overload

Search = Callable[[str], bool]

# What RE2 and Python's `re` read alike, once `\d`, `\w` and `$` are spelt out: `re` is several times faster
# here, as the wrapper of RE2 is written in Python.
_ATOM = re.compile(
    r"(?P<atom>[A-Za-z0-9_ /:@#%&=,;~<>!'\"-]|\\[dw.+*?()|/\[\]{}^$\\-]|\.|\[(?:[A-Za-z0-9_](?:-[A-Za-z0-9_])?)+\])"
    r"(?P<quantifier>[+*?]|\{[0-9]{1,3}(?P<open>,[0-9]{0,3})?\})?"
)
_ASCII_CLASSES: Final = {r"\d": "[0-9]", r"\w": "[0-9A-Za-z_]"}
_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False


class RegexTooLongError(CelError):
    pass


def matches(text: Any, pattern: Any) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise no_overload("matches", text, pattern)
    return _cached_search(pattern)(text)


def compile_search(pattern: str) -> Search:
    """A function from a text to whether the pattern matches somewhere in it.

    Raises:
        RegexTooLongError: more than 1,024 characters.
        CelError: RE2 does not take the pattern.

    """
    if len(pattern) > MAX_REGEX_CHARACTERS:
        raise RegexTooLongError(f"the regex has {len(pattern):,} characters, the limit is {MAX_REGEX_CHARACTERS:,}")
    try:
        compiled = re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        raise CelError(f"RE2 does not take the regex: {_text_of(error)}") from error
    except UnicodeEncodeError as error:
        raise CelError("the regex holds a lone surrogate") from error
    if (simple := _python_pattern(pattern)) is not None:
        search_simple = re.compile(simple).search
        return lambda text: search_simple(text) is not None
    search = compiled.search
    # Bytes in, because the wrapper converts the positions of a match in a str one by one.
    return lambda text: search(_encode(text)) is not None


_cached_search = lru_cache(maxsize=256)(compile_search)


def _python_pattern(pattern: str) -> str | None:
    """The same pattern for Python's `re`, if that takes linear time and means the same; else None.

    A sequence of single characters without alternatives or groups. Repetition makes backtracking possible:
    one is linear if the pattern is anchored, as its rest has a fixed length.
    """
    anchored = pattern.startswith("^")
    translated = ["^"] if anchored else []
    position, repetitions = len(translated), 0
    while found := _ATOM.match(pattern, position):
        repetitions += found["quantifier"] in ("+", "*", "?") or found["open"] is not None
        translated.append(_ASCII_CLASSES.get(found["atom"], found["atom"]) + (found["quantifier"] or ""))
        position = found.end()
    if pattern[position:] == "$":
        translated.append(r"\Z")
        position += 1
    if position < len(pattern) or repetitions > anchored:
        return None
    return "".join(translated)


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise CelError("the text holds a lone surrogate") from error


def _text_of(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return shortened(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason))
