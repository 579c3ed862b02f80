"""Texts of others, as a terminal may see them: control characters escaped, so none moves the cursor or fakes a line.

Types, ids, keys, headers, model answers and arguments of calls come from whoever may write to Kafka; an escape sequence
among them would be obeyed by the terminal, and one that reorders text would show an approver something else than runs.
"""

import json
from typing import Any, Final

_HARMLESS: Final = "\u200c\u200d\xa0\u202f"  # joiners (words of many scripts, emoji), blanks that do not break
_BLOCK: Final = "\n\t"


def one_line(text: str) -> str:
    r"""Escape what is not printable: a line feed is shown as `\n`."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def block(text: str) -> str:
    """As `one_line`, and lines stay lines."""
    return "".join(letter if letter in _BLOCK else _escaped(letter) for letter in text.replace("\r\n", "\n"))


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON that any reader reads back as it was, and that a terminal shows as it is."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isprintable():
        return text
    return "".join(one if one == "\n" or _harmless(one) else json.dumps(one)[1:-1] for one in text)


def _escaped(letter: str) -> str:
    return letter if _harmless(letter) else letter.encode("unicode_escape").decode()


def _harmless(letter: str) -> bool:
    return letter.isprintable() or letter in _HARMLESS
