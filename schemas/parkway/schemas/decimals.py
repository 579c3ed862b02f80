"""Whole numbers out of texts that anybody may have written."""

from typing import Final

_DIGITS: Final = 19  # of 2^63 - 1


def decimal(text: str) -> int | None:
    """ASCII digits that a signed 64-bit number holds; None for anything else (`"²".isdigit()` is true)."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        return None
    number = int(text)
    return number if number < 2**63 else None
