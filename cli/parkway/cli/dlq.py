"""`parkway dlq`: what could not be handled: list it, look at one, put it back."""

from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from parkway.cli.dlq_options import (
    Actions,
    AsJson,
    EventId,
    KeyText,
    Reasons,
    Since,
    Types,
    Until,
    make_filters,
    parse_place,
)
from parkway.cli.dlq_replay_command import replay
from parkway.cli.dlq_topic import DeadLetter, DlqTopic
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.shown import block, json_text, one_line
from parkway.runtime.clients import admin_client
from parkway.runtime.settings import Settings
from parkway.schemas import headers, jsonio

app = typer.Typer(no_args_is_help=True, help="Records that could not be handled: list, show, replay them.")
app.command("replay")(replay)

_LONGEST: Final = 120


@app.callback()
def _dlq() -> None:
    """Keep the words below words of their own."""


@app.command("list")
def list_letters(
    reason: Reasons = None,
    action: Actions = None,
    event_type: Types = None,
    key: KeyText = None,
    event_id: EventId = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=0, help="At most so many lines; all are counted.")] = 100,
    everything: Annotated[bool, typer.Option("--all", help="Also what was put back.")] = False,
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """List dead letters, those of a partition in their order, and count them by reason.

    Reads the topic as it is now, record by record. What was put back is left out. Event contents are not shown.

    For example:

      parkway dlq list --since 2h

      parkway dlq list --reason action_failed --action triage --json | jq -r .place
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    filters = make_filters(reason, action, event_type, key, event_id, since, until)
    topic = DlqTopic(settings, admin_client(settings, f"{settings.namespace}.dlq"), since=filters.since)
    if not everything:
        topic.read_markers()
    counts: Counter[str] = Counter()
    for letter in topic.letters(filters, only_open=not everything):
        counts[letter.reason] += 1
        if counts.total() <= limit:
            typer.echo(json_text(_summary(letter, settings)) if as_json else _line(letter))
    _say_counts(counts, limit, as_json=as_json)


@app.command("show")
def show(
    place: Annotated[str, typer.Argument(metavar="TOPIC/PARTITION/OFFSET", help="Of the DLQ, as `list` prints it.")],
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Show one dead letter: why it is there, where it came from, its headers, the traceback, the event.

    The place may also be PARTITION/OFFSET. Exit 1 when there is no such record any more.

    For example:

      parkway dlq show parkway.dlq/3/1742

      parkway dlq show 3/1742 --json | jq .event
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    partition, offset = parse_place(place, settings)
    topic = DlqTopic(settings, admin_client(settings, f"{settings.namespace}.dlq"))
    letter = topic.one(partition, offset)
    if letter is None:
        typer.echo(f"error: {topic.topic}/{partition}/{offset} is no dead letter, or is there no more", err=True)
        raise typer.Exit(1)
    topic.read_markers()
    details = _details(letter, settings) | {"replayed": (partition, offset) in topic.replayed}
    if as_json:
        typer.echo(json_text(details))
        return
    for name, value in details.items():
        if name == "traceback" and value:
            typer.echo(f"{name}:")
            typer.echo("  " + block(str(value)).replace("\n", "\n  "))
        elif name == "event" and value is not None:
            typer.echo(f"{name}:")
            typer.echo(block(value) if isinstance(value, str) else json_text(value, indent=2))
        elif isinstance(value, dict):
            typer.echo(f"{name}:")
            for header, content in value.items():
                typer.echo(f"  {one_line(header)}: {one_line(content)}")
        else:
            typer.echo(f"{name + ':':<10} {'-' if value is None else one_line(str(value))}")


def _summary(letter: DeadLetter, settings: Settings) -> dict[str, Any]:
    return {
        "place": letter.place,
        "written": letter.written,
        "reason": letter.reason,
        "message": letter.message,
        "origin": str(letter.origin) if letter.origin is not None else None,
        "action": letter.action(settings.topics),
        "type": letter.event_type,
        "id": letter.event_id,
        "root_id": letter.text(headers.ROOT_ID) or None,
        "key": letter.key.decode("utf-8", "replace") if letter.key is not None else None,
        "attempts": letter.attempts,
        "replays": letter.replays,
        "bytes": len(letter.value or b""),
    }


def _details(letter: DeadLetter, settings: Settings) -> dict[str, Any]:
    details = _summary(letter, settings)
    details["written"] = _time(letter.written)
    given = {name: value.decode("utf-8", "replace") for name, value in letter.given.items()}
    details["headers"] = {
        name: value for name, value in given.items() if name not in (headers.ERROR_TRACEBACK, headers.ERROR_MESSAGE)
    }
    details["traceback"] = letter.text(headers.ERROR_TRACEBACK) or None
    text = (letter.value or b"").decode("utf-8", "replace")
    try:
        details["event"] = (
            jsonio.loads(letter.value, max_depth=jsonio.PARSER_DEPTH) if letter.value is not None else None
        )
    except jsonio.JsonError:
        details["event"] = text
    return details


def _line(letter: DeadLetter) -> str:
    message = letter.message if len(letter.message) <= _LONGEST else f"{letter.message[:_LONGEST]}..."
    again = f" (replayed {letter.replays}x)" if letter.replays else ""
    what = f"{letter.event_type or '?'} {letter.event_id or ''}".strip()
    return one_line(
        f"{letter.place}  {_time(letter.written)}  {letter.reason}{again}  {letter.origin}  {what}: {message}"
    )


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _say_counts(counts: Counter[str], limit: int, *, as_json: bool) -> None:
    """On standard error: the list itself may go through a pipe."""
    if not counts:
        typer.echo("no dead letters", err=True)
        return
    more = f" ({counts.total() - limit:,} more than --limit shows)" if counts.total() > limit else ""
    by_reason = ", ".join(f"{reason} {count:,}" for reason, count in counts.most_common())
    typer.echo(f"{counts.total():,} dead letter{'' if counts.total() == 1 else 's'}{more}: {by_reason}", err=True)
    if not as_json:
        typer.echo("look at one: `parkway dlq show PLACE`; put them back: `parkway dlq replay --dry-run`", err=True)
