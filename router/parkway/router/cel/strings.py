r"""The value of a string or bytes literal.

`\d` and other escapes that CEL does not know keep their backslash (they are meant for `matches`); a known
escape that is malformed (`\x4`, `\u12`, `\9`) is a syntax error.
"""

import re
from functools import partial

from parkway.router.cel.errors import TriggerLoadError

_ESCAPE = re.compile(
    r"\\(?:(?P<simple>[abfnrtv\\?\"'`])"
    r"|(?P<octal>[0-3][0-7]{2})"
    r"|[xX](?P<hex>[0-9a-fA-F]{2})"
    r"|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})"
    r"|(?P<other>.))",
    re.DOTALL,
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MALFORMED = frozenset("xXuU0123456789")


def read_string(body: str, *, raw: bool, text: str, position: int) -> tuple[str, list[str]]:
    """The value of what stands between the quotes, and the escapes that kept their backslash."""
    kept: list[str] = []
    if raw or "\\" not in body:
        return _one_kind_of_newline(body), kept

    def replace(found: re.Match[str]) -> str:
        other = found["other"]
        if other is None:
            return _code_point(found, text=text, position=position)
        if other in _MALFORMED:
            raise _malformed(found, text=text, position=position)
        kept.append(found.group())
        return found.group()

    return _ESCAPE.sub(replace, _one_kind_of_newline(body)), kept


def read_bytes(body: str, *, raw: bool, text: str, position: int) -> bytes:
    r"""The value of a bytes literal: `\xff` and `\377` are bytes, all other text is UTF-8."""
    body = _one_kind_of_newline(body)
    if raw:
        return body.encode()
    value = bytearray()
    end = 0
    for found in _ESCAPE.finditer(body):
        value += body[end : found.start()].encode()
        value += _bytes_of(found, text=text, position=position)
        end = found.end()
    return bytes(value + body[end:].encode())


def _bytes_of(found: re.Match[str], *, text: str, position: int) -> bytes:
    if found["octal"] is not None:
        return bytes([int(found["octal"], 8)])
    if found["hex"] is not None:
        return bytes([int(found["hex"], 16)])
    if found["simple"] is None:
        raise _malformed(found, text=text, position=position)
    return _code_point(found, text=text, position=position).encode()


def _code_point(found: re.Match[str], *, text: str, position: int) -> str:
    if (simple := found["simple"]) is not None:
        return _SIMPLE.get(simple, simple)
    if found["octal"] is not None:
        return chr(int(found["octal"], 8))
    code = int(found["hex"] or found["short"] or found["long"], 16)
    is_surrogate = 0xD800 <= code <= 0xDFFF
    if is_surrogate or code > 0x10FFFF:
        raise _malformed(found, text=text, position=position)
    return chr(code)


_normalise = partial(re.compile(r"\r\n?").sub, "\n")


def _one_kind_of_newline(body: str) -> str:
    return _normalise(body) if "\r" in body else body


def _malformed(found: re.Match[str], *, text: str, position: int) -> TriggerLoadError:
    return TriggerLoadError(
        "syntax",
        f"`{found.group()}` is no escape: write \\\\ for a backslash, or r'...' for a raw string",
        text,
        position + found.start(),
    )
