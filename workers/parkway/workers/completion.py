"""Which records of one partition are completed, in the form that fits an offset commit (DESIGN 7.1).

Records complete in any order. What is committed is the low watermark, and in the metadata string beside it a
map of the offsets above it that are completed too. A restart skips those. The string carries the topic's
id, the owner's stamp (random per assignment) and a number that grows with every transaction, so that an
owner can tell its own commits from another's.

Behind that stand extra fields, `name=value` joined by `|`; a reader skips those it does not know. `tried` holds the
unfinished records that failed before, so that a crash does not begin counting anew. `marks` say how the owner left the
partition, and who is suspected of its death (marks.py).
"""

import base64
import zlib
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from parkway.workers.attempts import MOST_BYTES, Tried, read_tried, write_tried
from parkway.workers.marks import CLEAN, LONGEST_TEXT, Marks

VERSION: Final = "2"
_WITHOUT_EXTRAS: Final = "1"  # still read
# Everything in the string but the bitmap and the attempts: version, topic id, base, stamp, number, span, separators.
_FIXED_BYTES: Final = 150 + LONGEST_TEXT
_TRIED: Final = "tried"
_MARKS: Final = "marks"


class MapError(ValueError):
    """A metadata string that is no map of ours."""


@dataclass(frozen=True, slots=True)
class CommittedMap:
    """A decoded metadata string. Of [base, base + span) the offsets in `unfinished` are to be run (again)."""

    topic_id: str
    base: int
    span: int
    stamp: str
    number: int
    unfinished: frozenset[int]
    tried: Mapping[int, Tried] = field(default_factory=dict)  # of the unfinished ones, by offset
    marks: Marks = CLEAN


def largest_span(metadata_bytes: int) -> int:
    """How many offsets a map in `metadata_bytes` can span, in its longest encoded form (a plain bitmap)."""
    return max(1, (metadata_bytes - _FIXED_BYTES - MOST_BYTES) // 4 * 3 * 8)


def encode(  # what a map is made of
    topic_id: str,
    base: int,
    end: int,
    stamp: str,
    number: int,
    unfinished: Collection[int],
    tried: Mapping[int, Tried] | None = None,
    marks: Marks = CLEAN,
) -> str:
    """The metadata string for the offsets [base, end); `unfinished` and `tried` ones lie in that range."""
    plain = _bitmap(base, end, unfinished)
    packed = zlib.compress(plain, 6)
    form, body = ("z", packed) if len(packed) < len(plain) else ("b", plain)
    text = base64.b64encode(body).decode()
    extras = {_TRIED: write_tried(tried, base)} if tried else {}
    if marks != CLEAN:
        extras[_MARKS] = marks.to_text()
    written = "|".join(f"{name}={value}" for name, value in extras.items())
    return f"{VERSION};{topic_id};{base};{stamp};{number};{end - base};{form}{text};{written}"


def _bitmap(base: int, end: int, unfinished: Collection[int]) -> bytes:
    """A bit for each offset of [base, end), the first one lowest, without zeros at the end.

    By way of a number in base 2: every transaction does this for all that is in hand, and setting bits one by one takes
    twice as long.
    """
    if not unfinished:
        return b""
    digits = bytearray(b"0") * (end - base)
    last = end - 1
    for offset in unfinished:
        digits[last - offset] = 49  # "1"
    return int(digits, 2).to_bytes((end - base + 7) // 8, "little").rstrip(b"\0")


def decode(text: str) -> CommittedMap:
    """Read what `encode` wrote. Raises MapError for anything else, whatever it is."""
    parts = text.split(";")
    if parts[0] == _WITHOUT_EXTRAS and len(parts) == 7:
        parts.append("")
    elif len(parts) != 8 or parts[0] != VERSION:
        raise MapError(f"not a map of version {VERSION}: {text[:60]!r}")
    _, topic_id, base_text, stamp, number_text, span_text, coded, written = parts
    extras = dict(extra.partition("=")[::2] for extra in written.split("|"))
    try:
        base, number, span = int(base_text), int(number_text), int(span_text)
        body = base64.b64decode(coded[1:], validate=True)
        if coded[:1] == "z":
            unpack = zlib.decompressobj()
            body = unpack.decompress(body, span // 8 + 2)
        elif coded[:1] != "b":
            raise MapError(f"unknown form {coded[:1]!r}")
        tried = read_tried(extras.get(_TRIED, ""), base)
        marks = Marks.from_text(extras.get(_MARKS, ""))
    except (ValueError, zlib.error) as error:
        raise MapError(f"broken map {text[:60]!r}: {error}") from None
    unfinished = frozenset(
        base + index * 8 + bit for index, byte in enumerate(body) if byte for bit in range(8) if byte >> bit & 1
    )
    if span < 0 or any(offset >= base + span for offset in unfinished):
        raise MapError(f"broken map {text[:60]!r}: an offset beyond its span")
    return CommittedMap(topic_id, base, span, stamp, number, unfinished, tried, marks)


class Completion:
    """The open offsets of one partition of one topic, in this assignment. Used on the event loop only.

    `next` is where taking goes on: everything below it was taken, was skipped, or is a gap in the log.
    """

    def __init__(self, topic_id: str, base: int, restored: CommittedMap | None = None) -> None:
        self.topic_id = topic_id
        self.next = base
        self._open: dict[int, int] = {}  # offset -> timestamp, in the order taken, which is the order of offsets
        # The same offsets in the same order, from the lowest open one on; others of them may be completed. A dict whose
        # front was deleted is scanned from its beginning for what is first.
        self._order: deque[int] = deque()
        self._redo = restored.unfinished if restored else frozenset()
        self._redo_end = restored.base + restored.span if restored else base
        self._tried = dict(restored.tried) if restored else {}
        # Records of an earlier epoch whose handlers run on (adopted), until they are taken again.
        self._adopted: set[int] = set()
        self._early: set[int] = set()  # of those, the ones that completed before they were taken again

    @classmethod
    def restore(
        cls, topic_id: str, committed: int, metadata: str | None
    ) -> tuple[Self, CommittedMap | None, str | None]:
        """From a committed offset and its metadata: the completion, the map, and why a map was ignored.

        A map whose base is not the committed offset, or whose topic is another (offsets reset by a tool, or
        mirrored to another cluster), is ignored.
        """
        if not metadata:
            return cls(topic_id, committed), None, None
        try:
            found = decode(metadata)
        except MapError as error:
            return cls(topic_id, committed), None, str(error)
        if found.base != committed:
            return cls(topic_id, committed), None, f"its base is {found.base}, the committed offset {committed}"
        if found.topic_id != topic_id:
            return cls(topic_id, committed), None, f"it belongs to topic id {found.topic_id}, not {topic_id}"
        return cls(topic_id, committed, found), found, None

    @property
    def watermark(self) -> int:
        """The lowest offset that is not completed."""
        return self._order[0] if self._order else self.next

    @property
    def span(self) -> int:
        """Offsets between the watermark and the newest one taken."""
        return max(self.next, self._redo_end) - self.watermark

    def room(self, largest: int) -> int:
        """How many more offsets may be taken before the map spans `largest`.

        What a predecessor's map spans already is free: else a full one would never be worked off.
        """
        return max(0, largest - self.span) + max(0, self._redo_end - self.next)

    @property
    def oldest(self) -> int | None:
        """The timestamp (ms since 1970) of the oldest record in hand. From any thread."""
        try:
            return self._open.get(self._order[0])
        except IndexError:
            return None

    def take(self, offset: int, timestamp: int = 0) -> bool:
        """A record was taken. False: it is completed or in hand already, and must be skipped."""
        if offset < self.next:
            return False
        self.next = offset + 1
        if offset in self._early:
            self._early.discard(offset)
            return False
        if offset < self._redo_end and offset not in self._redo:
            return False
        self._open[offset] = timestamp
        self._order.append(offset)
        if offset in self._adopted:
            self._adopted.discard(offset)
            return False
        return True

    def is_unfinished(self, offset: int) -> bool:
        """Just restored: does the committed map show this record unfinished?"""
        return offset >= self.next and (offset >= self._redo_end or offset in self._redo)

    def adopt(self, offset: int) -> None:
        """The handler of this unfinished record runs already; the record itself will come again."""
        self._adopted.add(offset)

    def tried(self, offset: int) -> Tried | None:
        """The failed attempts at this record; None when there was none."""
        return self._tried.get(offset)

    def failed(self, offset: int, since: int) -> None:
        """One more attempt has failed, and the record stays unfinished; the first one began at `since` (seconds)."""
        known = self._tried.get(offset)
        self._tried[offset] = Tried(known.attempts + 1, known.since) if known else Tried(1, since)

    def advance(self, position: int) -> None:
        """The consumer has passed control records up to `position`."""
        self.next = max(self.next, position)

    def complete(self, offsets: Collection[int]) -> None:
        """These are committed."""
        for offset in offsets:
            self._open.pop(offset, None)
            self._tried.pop(offset, None)
            if offset in self._adopted:
                self._adopted.discard(offset)
                self._early.add(offset)
        while self._order and self._order[0] not in self._open:
            self._order.popleft()

    def snapshot(self, completed: Collection[int], stamp: str, number: int, marks: Marks = CLEAN) -> tuple[int, str]:
        """Offset and metadata string to commit, when `completed` are completed in that transaction too."""
        gone = completed if isinstance(completed, (set, frozenset)) else set(completed)
        early = self._early | (gone & self._adopted)
        unfinished = self._open.keys() - gone
        # What an earlier epoch left open and this one has not taken again yet.
        if self._redo_end > self.next:
            unfinished.update(offset for offset in self._redo if offset >= self.next and offset not in early)
        end = max(self.next, self._redo_end)
        beyond = max(early, default=-1) + 1
        if beyond > end:
            # Completed ahead of everything that was taken: what lies between is still to be done.
            unfinished.update(offset for offset in range(end, beyond) if offset not in early)
            end = beyond
        base = min(unfinished, default=end)
        tried = {offset: known for offset, known in self._tried.items() if base <= offset < end and offset not in gone}
        return base, encode(self.topic_id, base, end, stamp, number, unfinished, tried, marks)

    def __len__(self) -> int:
        return len(self._open) + len(self._adopted)
