"""Events out of a file or standard input, one JSON object a line, with the key that each is to have."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parkway.schemas import jsonio
from parkway.schemas.errors import ParkwayError
from parkway.schemas.events import Event


class EventLineError(ParkwayError):
    """A line that is no event, or a key that is not in it."""


def event_lines(file: Path | None, event_type: str | None) -> Iterator[tuple[int, Event]]:
    """Line number and event of each line that is not blank. With `event_type` a line is the attributes.

    Raises EventLineError.
    """
    for number, line in _lines(file):
        try:
            body = jsonio.loads(line)
            if event_type is not None:
                body = {"type": event_type, "attributes": body}
            event = Event.from_dict(body)
        except ValueError as error:
            hint = "" if event_type is not None else "; for plain attributes give --type"
            raise EventLineError(f"line {number}: {error}{hint}") from None
        yield number, event


def key_of(number: int, event: Event, path: str) -> str:
    """The key at `path`, such as `attributes.customer`. Raises EventLineError."""
    value: Any = event.to_dict()
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, str | int):
        raise EventLineError(f"line {number}: --key-from {path}: no text or whole number there")
    return str(value)


def _lines(file: Path | None) -> Iterator[tuple[int, bytes]]:
    if file is None:
        source = sys.stdin.buffer
    else:
        try:
            source = file.open("rb")
        except OSError as error:
            raise EventLineError(f"{file}: {error.strerror}") from None
    with source:
        for number, line in enumerate(source, 1):
            if line.strip():
                yield number, line
