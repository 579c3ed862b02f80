"""Failed attempts at records that are not finished, in the little room that an offset commit has for them."""

from collections.abc import Mapping
from typing import Final, NamedTuple

MOST_BYTES: Final = 600  # some 60 records


class Tried(NamedTuple):
    """How often a record was tried and failed, and when the first attempt began (seconds since 1970)."""

    attempts: int
    since: int


def write_tried(tried: Mapping[int, Tried], base: int) -> str:
    """`t,o.a.s,o.a.s`: the earliest time, then per record offset - base, attempts, seconds after that time.

    In at most `MOST_BYTES`: the records with the fewest attempts are left out, and begin anew after a crash.
    """
    start = min(one.since for one in tried.values())
    parts = [str(start)]
    room = MOST_BYTES - len(parts[0])
    for offset, (attempts, since) in sorted(tried.items(), key=lambda item: (-item[1].attempts, item[0])):
        part = f"{offset - base}.{attempts}.{since - start}"
        room -= len(part) + 1
        if room < 0:
            break
        parts.append(part)
    return ",".join(parts)


def read_tried(text: str, base: int) -> dict[int, Tried]:
    """Read what `write_tried` wrote, or an empty text. Raises ValueError for anything else."""
    if not text:
        return {}
    start, *parts = text.split(",")
    tried = {}
    for part in parts:
        offset, attempts, seconds = map(int, part.split("."))
        tried[base + offset] = Tried(attempts, int(start) + seconds)
    return tried
