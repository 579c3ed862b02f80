"""What one event from outside may be at most; each limit is a setting of the plan under the same name."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_event_depth` counts maps and lists inside each other, the event itself being the first.

    `max_string_chars` holds for every string, keys too; `max_members` for every map and list.
    """

    max_event_bytes: int = 1_000_000
    max_event_depth: int = 100
    max_string_chars: int = 1_000_000
    max_members: int = 100_000
