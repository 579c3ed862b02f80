"""`parkway parked`: what waits in `<ns>.parked`, for whom, and for how long."""

import heapq
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from parkway.cli.durations import duration, parse_duration
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.parked_topic import ParkedMessage, parked_messages
from parkway.cli.shown import json_text, one_line
from parkway.cli.tables import print_table
from parkway.runtime.clients import admin_client
from parkway.schemas.parked import ParkedCancellation, ParkedError, ParkedKind, ParkedRecord, ParkedStep

app = typer.Typer(no_args_is_help=True, help="Requests that wait: list them, look at one.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a list shows of a parked record. Times are milliseconds since 1970 (UTC)."""

    id: str  # of the request; of a step the event's; of a cancellation by token `-`, since the token is a secret
    action: str
    kind: str
    partition: int
    offset: int
    round: int | None
    waits_for: str | None
    pending_calls: int
    written: int
    deadline: int | None
    bytes: int


@app.callback()
def _parked() -> None:
    """Keep the words below words of their own."""


@app.command("list")
def list_parked(
    action: Annotated[str | None, typer.Option(metavar="NAME", help="Only what this action parked.")] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only what has not moved for so long: 90s, 10m, 2h, 1d.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the oldest ones.")] = 100,
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """List what is parked, the oldest first.

    Kinds: request; cancellation (of a request that has not come yet); step (the result of a `ctx.step`, under the id of
    the event that is being handled).

    AGE is the time since the last round.

    For example:

      parkway parked list --older-than 10m

      parkway parked list --action chat --json | jq -r .id
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    oldest = time.time() - parse_duration(older_than, "--older-than") if older_than is not None else None
    live: dict[tuple[bytes, int], Summary] = {}  # one id may wait in several partitions
    for message in parked_messages(admin_client(settings, f"{settings.namespace}.parked"), settings):
        place = message.raw_key, message.partition
        live.pop(place, None)
        if message.value is not None and (action is None or message.key.action == action):
            live[place] = _summary(message)
    shown = [one for one in live.values() if oldest is None or one.written <= oldest * 1000]
    rows = heapq.nsmallest(limit, shown, key=lambda one: (one.written, one.partition, one.offset))
    if as_json:
        for one in rows:
            typer.echo(json_text(asdict(one)))
    else:
        _print_table(rows)
    if len(shown) > len(rows):
        typer.echo(f"{len(shown) - len(rows)} more; see --limit", err=True)


@app.command("show")
def show(
    request_id: Annotated[str, typer.Argument(metavar="ID", help="The request's id.")],
    action: Annotated[str | None, typer.Option(metavar="NAME", help="Only what this action parked.")] = None,
    content: Annotated[bool, typer.Option("--content", help="Also the request and the conversation.")] = False,
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Show what is parked under a request's id: what it waits for, where it came from, the token that cancels it.

    Exit 1 when nothing is.

    For example:

      parkway parked show order-4711

      parkway parked show order-4711 --content --json | jq .state
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    found: dict[tuple[bytes, int], ParkedMessage] = {}
    for message in parked_messages(admin_client(settings, f"{settings.namespace}.parked"), settings):
        key = message.key
        if key.subject != request_id or key.kind in (ParkedKind.CANCELLED_TOKEN, ParkedKind.STEP):
            continue
        if action is not None and key.action != action:
            continue
        found.pop((message.raw_key, message.partition), None)
        if message.value is not None:
            found[message.raw_key, message.partition] = message
    if not found:
        typer.echo(
            f"error: nothing is parked under {request_id!r}: it is queued, in its first call, or has ended", err=True
        )
        raise typer.Exit(1)
    for message in found.values():
        details = _details(message, content=content)
        if as_json:
            typer.echo(json_text(details))
        else:
            _print_details(details)


def describe(message: ParkedMessage) -> str:
    """In a few words, for a question: `round 1, waits for 2 calls, 12s old`."""
    summary = _summary(message)
    calls = f"waits for {summary.pending_calls} call{'s' if summary.pending_calls != 1 else ''}"
    return f"round {summary.round}, {calls}, {duration(time.time() - summary.written / 1000)} old"


def _summary(message: ParkedMessage) -> Summary:
    assert message.value is not None
    key, size = message.key, len(message.value)
    place = (message.partition, message.offset)
    try:
        if key.kind is ParkedKind.STEP:
            step = ParkedStep.from_json(message.value)
            return Summary(step.event_id, key.action, "step", *place, None, None, 0, message.written, None, size)
        if key.kind is not ParkedKind.REQUEST:
            early = ParkedCancellation.from_json(message.value)
            name = early.request_id or "-"
            return Summary(
                name, key.action, "cancellation", *place, None, None, 0, message.written, early.deadline, size
            )
        record = ParkedRecord.from_json(message.value)
    except ParkedError:
        return Summary(key.subject, key.action, "unreadable", *place, None, None, 0, message.written, None, size)
    calls = len(record.pending_calls)
    return Summary(
        key.subject,
        key.action,
        record.kind,
        *place,
        record.round,
        record.waits_for,
        calls,
        message.written,
        record.deadline,
        size,
    )


def _details(message: ParkedMessage, *, content: bool) -> dict[str, Any]:
    assert message.value is not None
    details: dict[str, Any] = asdict(_summary(message))
    try:
        if message.key.kind is not ParkedKind.REQUEST:
            return {**details, "reason": ParkedCancellation.from_json(message.value).reason if content else None}
        record = ParkedRecord.from_json(message.value)
    except ParkedError as error:
        return {**details, "error": str(error)}
    attributes = record.request.get("attributes")
    details |= {
        "pending_calls": list(record.pending_calls),
        "type": record.request.get("type"),
        "model": attributes.get("model") if isinstance(attributes, dict) else None,
        "origin": f"{record.origin.topic}/{record.origin.partition}/{record.origin.offset}",
        "external": record.origin.external,
        "reply_to": record.origin.reply_to,
        "headers": record.origin.headers,
        "build": record.build,
        "request_bytes": len(json.dumps(record.request)),
        "state_bytes": len(json.dumps(record.state)),
        "token": record.token,
    }
    if content:
        details |= {"request": record.request, "state": record.state}
    return details


def _print_table(rows: Iterable[Summary]) -> None:
    now = time.time()
    header = ("ID", "ACTION", "KIND", "PARTITION", "ROUND", "CALLS", "AGE", "DEADLINE IN", "BYTES")
    lines = [
        (
            one.id,
            one.action,
            one.kind,
            str(one.partition),
            str(one.round) if one.round is not None else "-",
            str(one.pending_calls),
            duration(now - one.written / 1000),
            duration(one.deadline / 1000 - now) if one.deadline is not None else "-",
            str(one.bytes),
        )
        for one in rows
    ]
    if not lines:
        typer.echo("nothing is parked", err=True)
        return
    print_table(header, lines)


def _print_details(details: dict[str, Any]) -> None:
    now = time.time()
    for name, value in details.items():
        if name == "written":
            shown = f"{duration(now - value / 1000)} ago"
        elif name == "deadline" and value is not None:
            shown = f"in {duration(value / 1000 - now)}"
        elif isinstance(value, dict | list):
            shown = json_text(value)
        else:
            shown = "-" if value is None else one_line(str(value))
        typer.echo(f"{name + ':':<15} {shown}")
