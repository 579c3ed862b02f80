"""A linear scan before the grammar sees the text.

The grammar finds the end of a string with a regular expression that takes quadratic time on unclosed
quotes, and splits words where CEL does not (`a inb`). So this module finds all literals and words itself,
checks the limits, and hands the grammar a **mask**: the text with every string literal emptied and every
comment blanked, of the same length, so that all positions stay.
"""

import re
from dataclasses import dataclass, field

from parkway.router.cel.errors import TriggerLoadError
from parkway.router.cel.strings import read_bytes, read_string

MAX_CHARACTERS = 8192
MAX_NESTING = 32
MAX_ITEMS = 1000
MAX_REGEX_CHARACTERS = 1024

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_PREFIXES = frozenset({"r", "R", "b", "B", "br", "bR", "Br", "BR"})
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+[uU]?|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?[uU]?")
_QUOTED_NAME = re.compile(r"`([A-Za-z0-9_.\-/ ]+)`")
# What a string can run over in one step.
_PLAIN = {quote: re.compile(rf"[^{quote}\\\r\n]+") for quote in "'\""}


@dataclass(slots=True)
class Scan:
    """`mask` for the grammar; what the mask hides, by position; the words, to compare with its tokens."""

    mask: str
    literals: dict[int, str | bytes] = field(default_factory=dict)
    quoted_names: dict[int, str] = field(default_factory=dict)
    words: list[tuple[int, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def scan(text: str) -> Scan:
    """Find the literals and check the limits.

    Raises:
        TriggerLoadError: `limit`, or `syntax` for unclosed quotes and brackets.

    """
    if len(text) > MAX_CHARACTERS:
        raise TriggerLoadError(
            "limit",
            f"the expression has {len(text):,} characters, the limit is {MAX_CHARACTERS:,}: "
            "split it into several triggers",
            text,
        )
    return _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.mask: list[str] = []
        self.scan = Scan(mask="")
        self.open: list[tuple[str, int, int]] = []  # bracket, position, commas so far
        self.literal_end = -1
        self.last_comma = -1  # its place in `mask`, while nothing but blanks follows it

    def run(self) -> Scan:
        position = 0
        while position < len(self.text):
            position = self.step(position)
        if self.open:
            bracket, start, _ = self.open[-1]
            raise self.error(f"`{bracket}` is never closed: add `{_CLOSING[bracket]}`", start)
        self.scan.mask = "".join(self.mask)
        return self.scan

    def step(self, position: int) -> int:
        character = self.text[position]
        if character in "'\"":
            return self.literal("", position)
        if word := _WORD.match(self.text, position):
            return self.word(word.group(), position)
        if number := _NUMBER.match(self.text, position):
            return self.keep(number.group(), position)
        if character == "`":
            return self.quoted_name(position)
        if self.text.startswith("//", position):
            end = self.text.find("\n", position)
            return self.blank(end if end >= 0 else len(self.text), position)
        if character in "([{":
            self.enter(character, position)
        elif character in ")]}":
            self.leave(character, position)
        elif character == "," and self.open:
            self.count_item()
            self.last_comma = len(self.mask)
            self.mask.append(character)
            return position + 1
        return self.keep(character, position)

    def keep(self, piece: str, position: int) -> int:
        if not piece.isspace():
            self.last_comma = -1
        self.mask.append(piece)
        return position + len(piece)

    def blank(self, end: int, position: int) -> int:
        self.mask.append(" " * (end - position))
        return end

    def word(self, word: str, position: int) -> int:
        after = position + len(word)
        if word in _PREFIXES and self.text[after : after + 1] in ("'", '"'):
            return self.literal(word, position)
        self.scan.words.append((position, word))
        return self.keep(word, position)

    def quoted_name(self, position: int) -> int:
        name = _QUOTED_NAME.match(self.text, position)
        if name is None:
            raise self.error("a name in backticks holds letters, digits and `_.-/ ` and is closed", position)
        mask = "_" * len(name.group())
        self.scan.quoted_names[position] = name.group(1)
        self.scan.words.append((position, mask))
        return self.keep(mask, position)

    def literal(self, prefix: str, position: int) -> int:
        if position == self.literal_end:
            raise self.error("two literals without an operator between them", position)
        opening = position + len(prefix)
        quote = self.text[opening]
        if self.text.startswith(quote * 3, opening):
            quote *= 3
        raw = "r" in prefix.lower()
        start = opening + len(quote)
        end = self.find_end(start, quote, raw=raw, opening=position)
        body = self.text[start:end]
        if "b" in prefix.lower():
            self.scan.literals[position] = read_bytes(body, raw=raw, text=self.text, position=start)
            self.mask.append('b""')
            hidden = end + len(quote) - position - 3
        else:
            value, kept = read_string(body, raw=raw, text=self.text, position=start)
            self.scan.literals[position] = value
            self.scan.warnings.extend(self.warn(escape) for escape in kept)
            self.mask.append('""')
            hidden = end + len(quote) - position - 2
        self.mask.append(" " * hidden)
        self.last_comma = -1
        self.literal_end = end + len(quote)
        return self.literal_end

    def find_end(self, start: int, quote: str, *, raw: bool, opening: int) -> int:
        """The position of the closing quote. Unless raw, a backslash takes the next character with it."""
        position = start
        plain = _PLAIN[quote[0]]
        while position < len(self.text):
            if run := plain.match(self.text, position):
                position = run.end()
            elif self.text.startswith(quote, position):
                return position
            elif len(quote) == 1 and self.text[position] in "\r\n":
                break
            elif self.text[position] == "\\" and not raw and self.text[position + 1 : position + 2] not in "\r\n":
                position += 2
            else:
                position += 1
        raise self.error(f"the string is never closed: add `{quote}`", opening)

    def warn(self, escape: str) -> str:
        return f"`{escape}` keeps its backslash in an ordinary string; write r'...' to say so"

    def enter(self, bracket: str, position: int) -> None:
        # The outermost pair is not nested in anything.
        if len(self.open) > MAX_NESTING:
            raise TriggerLoadError(
                "limit",
                f"brackets are nested more than {MAX_NESTING} deep: split the expression into several triggers",
                self.text,
                position,
            )
        self.open.append((bracket, position, 0))

    def leave(self, bracket: str, position: int) -> None:
        if not self.open or _CLOSING[self.open[-1][0]] != bracket:
            raise self.error(f"`{bracket}` closes nothing", position)
        _, start, commas = self.open.pop()
        if self.last_comma >= 0 and bracket != ")":
            self.mask[self.last_comma] = " "  # CEL allows `[1, 2,]`, the grammar does not
            commas -= 1
        if commas >= MAX_ITEMS:
            raise TriggerLoadError(
                "limit",
                f"more than {MAX_ITEMS:,} items: put them into an attribute, or split the trigger",
                self.text,
                start,
            )

    def count_item(self) -> None:
        bracket, start, commas = self.open.pop()
        self.open.append((bracket, start, commas + 1))

    def error(self, reason: str, position: int) -> TriggerLoadError:
        return TriggerLoadError("syntax", reason, self.text, position)
