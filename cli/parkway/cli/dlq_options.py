"""Which dead letters are meant: the flags that `parkway dlq list` and `replay` share."""

from difflib import get_close_matches
from typing import Annotated

import typer

from parkway.cli.dlq_topic import Filters, milliseconds_ago
from parkway.cli.durations import parse_duration
from parkway.runtime.settings import Settings
from parkway.schemas.decimals import decimal
from parkway.schemas.errors import DlqReason, ParkwayError

Reasons = Annotated[
    list[str] | None, typer.Option("--reason", metavar="WORD", help="Only with this reason; may be given again.")
]
Actions = Annotated[
    list[str] | None, typer.Option("--action", metavar="NAME", help="Only what this action could not handle.")
]
Types = Annotated[list[str] | None, typer.Option("--type", metavar="TYPE", help="Only events of this type.")]
KeyText = Annotated[str | None, typer.Option("--key", metavar="TEXT", help="Only records with this key.")]
EventId = Annotated[
    str | None, typer.Option("--id", metavar="ID", help="Only this event, and what came of the one with this id.")
]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Not older than 90s, 10m, 2h, 1d.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="At least so old.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


class DlqError(ParkwayError):
    """A call that cannot be answered; the message says what to write."""


def make_filters(
    reasons: list[str] | None,
    actions: list[str] | None,
    types: list[str] | None,
    key: str | None,
    event_id: str | None,
    since: str | None,
    until: str | None,
    place: tuple[int, int] | None = None,
) -> Filters:
    known = [one.value for one in DlqReason if one is not DlqReason.REPLAYED]
    for reason in reasons or ():
        if reason not in known:
            raise DlqError(f"--reason {reason!r}: no such reason{_hint(reason, known)}; {', '.join(known)}")
    return Filters(
        tuple(reasons or ()),
        tuple(actions or ()),
        tuple(types or ()),
        key.encode() if key is not None else None,
        event_id,
        milliseconds_ago(parse_duration(since, "--since")) if since is not None else None,
        milliseconds_ago(parse_duration(until, "--until")) if until is not None else None,
        place,
    )


def parse_place(text: str, settings: Settings) -> tuple[int, int]:
    topic, _, rest = text.rpartition("/")[0].rpartition("/")
    partition, offset = decimal(rest), decimal(text.rpartition("/")[2])
    if partition is None or offset is None or topic not in ("", settings.topics.dlq):
        raise DlqError(f"{text!r}: write {settings.topics.dlq}/PARTITION/OFFSET, as `parkway dlq list` prints it")
    return partition, offset


def _hint(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
