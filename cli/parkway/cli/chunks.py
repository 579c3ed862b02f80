"""Texts in pieces that fit an embedding: by sections and paragraphs, one line at a time."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_SENTENCE: Final = re.compile(r"[.!?]\s")


class Chunk(NamedTuple):
    """A piece of a text; `heading` is the way to its section, such as `Workers > Retries`, or empty."""

    text: str
    heading: str


def chunks_of(lines: Iterable[str], size: int, overlap: int = 0, *, markdown: bool = False) -> Iterator[Chunk]:
    """Cut a text into chunks of at most `size` characters (its heading apart) without reading it as a whole.

    Paragraphs are kept together as far as they fit; one that does not is cut behind a sentence, or a word. A chunk
    begins with the last `overlap` characters, or fewer, of the one before in its section. In markdown a heading begins
    a section; lines in fences are no headings.
    """
    sections: list[str] = []
    packer = _Packer(size, overlap)
    fence = ""
    for line in lines:
        marker = _FENCE.match(line) if markdown else None
        if marker is not None and fence in ("", marker[1]):
            fence = "" if fence else marker[1]
        heading = _HEADING.fullmatch(line.rstrip("\n")) if markdown and not fence else None
        if heading is None:
            yield from _under(sections, packer.line(line, in_fence=bool(fence)))
            continue
        yield from _under(sections, packer.end())
        sections[len(heading[1]) - 1 :] = [*[""] * (len(heading[1]) - 1 - len(sections)), heading[2]]
    yield from _under(sections, packer.end())


def _under(sections: list[str], texts: Iterable[str]) -> Iterator[Chunk]:
    heading = " > ".join(filter(None, sections))
    for text in texts:
        yield Chunk(text, heading)


class _Packer:
    """Lines of one section -> texts of at most `size` characters. Holds one chunk and one paragraph."""

    def __init__(self, size: int, overlap: int) -> None:
        self._size = size
        self._overlap = overlap
        self._chunk = ""
        self._only_overlap = True
        self._paragraph = ""

    def line(self, line: str, *, in_fence: bool) -> Iterator[str]:
        if line.strip() or in_fence:
            self._paragraph += line
            while len(self._paragraph) > 2 * self._size:  # a line, or a paragraph, without an end
                cut = _cut(self._paragraph, self._size)
                rest, self._paragraph = self._paragraph[cut:], self._paragraph[:cut]
                yield from self._end_paragraph()
                self._paragraph = rest
        else:
            yield from self._end_paragraph()

    def end(self) -> Iterator[str]:
        """End the section."""
        yield from self._end_paragraph()
        if not self._only_overlap:
            yield self._chunk
        self._chunk, self._only_overlap = "", True

    def _end_paragraph(self) -> Iterator[str]:
        left, self._paragraph = self._paragraph.strip("\n").rstrip(), ""
        while left:
            joined = f"{self._chunk}\n\n{left}" if self._chunk else left
            if len(joined) <= self._size:
                self._chunk, self._only_overlap, left = joined, False, ""
            elif not self._only_overlap:
                yield self._emit()
            elif self._chunk:
                self._chunk = ""  # what overlaps must not make a paragraph too long that fits alone
            else:
                cut = _cut(left, self._size)
                self._chunk, self._only_overlap, left = left[:cut].rstrip(), False, left[cut:].lstrip()

    def _emit(self) -> str:
        text = self._chunk
        tail = text[-self._overlap :] if self._overlap else ""
        self._chunk = tail[tail.find(" ") + 1 :].strip() if len(tail) < len(text) else ""
        self._only_overlap = True
        return text


def _cut(text: str, size: int) -> int:
    """Where to cut a text that is longer than `size`: behind the last sentence or word of its second half."""
    head = text[:size]
    sentences = [found.end() for found in _SENTENCE.finditer(head, size // 2)]
    if sentences:
        return sentences[-1]
    blank = max(head.rfind(" "), head.rfind("\n"))
    return blank + 1 if blank >= size // 2 else size
