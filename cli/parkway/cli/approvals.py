"""`parkway approvals`: the tool calls that wait for a person, and a person's word on them."""

import time
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.cli.arrivals import arrivals
from parkway.cli.ask import confirm
from parkway.cli.durations import duration, parse_duration
from parkway.cli.operator_event import send_event
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.outcome import NotDoneError, OutcomeAsJson, errors
from parkway.cli.parked_topic import ends_of
from parkway.cli.shown import json_text, one_line
from parkway.cli.tables import print_table
from parkway.cli.waiting_calls import WaitingCall, WaitingCalls, calls_left
from parkway.runtime.clients import admin_client, manual_consumer
from parkway.runtime.settings import Settings
from parkway.schemas.events import ApprovalResponseEvent

app = typer.Typer(no_args_is_help=True, help="Tool calls that wait for a person: list, show, approve, deny.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The call's id, or its beginning.")]
Reason = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What the model is told of a denial; the journal's content has it, too."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Wait = Annotated[
    str | None, typer.Option(metavar="TIME", help="Wait until it is taken up and has ended, at most so long.")
]

_SHOWN_ARGUMENTS: Final = 60  # characters in a list


class NotWaitingError(NotDoneError):
    """No call of that id waits for a person."""


class NotEndedError(NotDoneError):
    """It was sent, and the call still waits or runs when the time to wait is over."""


@app.command("list")
def list_calls(
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="Only calls of this tool.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the oldest ones.")] = 100,
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """List the calls that wait for a person, the oldest first.

    For example:

      parkway approvals list

      parkway approvals list --tool refund --json | jq -r .id
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    waiting = WaitingCalls.read(admin_client(settings, f"{settings.namespace}.approvals"), settings).calls
    shown = sorted(
        (call for call in waiting if tool is None or call.tool == tool), key=lambda call: (call.asked_at, call.id)
    )
    if as_json:
        for call in shown[:limit]:
            typer.echo(json_text(_details(call, token=False)))
    else:
        _print_table(shown[:limit])
    if len(shown) > limit:
        typer.echo(f"{len(shown) - limit} more; see --limit", err=True)


@app.command("show")
def show(
    call_id: Id,
    as_json: AsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Show a call that waits: its arguments, for whom it was made, and the token that decides it.

    Exit 1 when no call of that id waits.

    For example:

      parkway approvals show 7f8b1c52
    """
    with errors(as_json=as_json, id=call_id):
        settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
        call = _find(admin_client(settings, f"{settings.namespace}.approvals"), settings, call_id)
    details = _details(call, token=True)
    if as_json:
        typer.echo(json_text(details))
        return
    for name, value in details.items():
        typer.echo(f"{name + ':':<12} {_shown(name, value)}")


@app.command("approve")
def approve(
    call_id: Id,
    reason: Reason = None,
    yes: Yes = False,
    wait: Wait = None,
    as_json: OutcomeAsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Let a call run. Needs the right to write to <ns>.events.

    Exit 1 when no call of that id waits, or when --wait ends before the call has.

    For example:

      parkway approvals approve 7f8b1c52

      parkway approvals approve 7f8b1c52 --yes --wait 30s --json
    """
    with errors(as_json=as_json, id=call_id):
        settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
        _decide(settings, call_id, reason, approved=True, yes=yes, wait=wait, as_json=as_json)


@app.command("deny")
def deny(
    call_id: Id,
    reason: Reason = None,
    yes: Yes = False,
    wait: Wait = None,
    as_json: OutcomeAsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Do not let a call run: the model is told so, with the reason. Needs the right to write to <ns>.events.

    Exit 1 when no call of that id waits, or when --wait ends before it is taken up.

    For example:

      parkway approvals deny 7f8b1c52 --reason "refunds above 500 go by the bank"
    """
    with errors(as_json=as_json, id=call_id):
        settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
        _decide(settings, call_id, reason, approved=False, yes=yes, wait=wait, as_json=as_json)


def _decide(
    settings: Settings, call_id: str, reason: str | None, *, approved: bool, yes: bool, wait: str | None, as_json: bool
) -> None:
    seconds = parse_duration(wait, "--wait") if wait is not None else None
    admin = admin_client(settings, f"{settings.namespace}.approvals")
    call = _find(admin, settings, call_id)
    word = "Approve" if approved else "Deny"
    if not yes:
        arguments = json_text(call.arguments)
        because = f" ({one_line(call.reason)})" if call.reason else ""
        confirm(f"{one_line(call.tool)} {arguments}{because}\n{word} it?", err=as_json)
    waiter = _Waiter(admin, settings, call) if seconds is not None else None
    try:
        event = ApprovalResponseEvent(request_id=call.request_id, token=call.token, approved=approved, reason=reason)
        send_event(settings, f"{settings.namespace}.approvals", event, call.record_key, [call.partition])
        if not as_json:
            typer.echo(f"{'approval' if approved else 'denial'} of {one_line(call.tool)} call {call.id} sent")
        if waiter is not None and seconds is not None:
            waiter.wait(seconds)
            if not as_json:
                typer.echo("it has been taken up, and has ended")
    finally:
        if waiter is not None:
            waiter.close()
    if as_json:
        about = {"id": call.id, "tool": call.tool, "request_id": call.request_id, "partition": call.partition}
        typer.echo(json_text({**about, "approved": approved, "ended": True if waiter is not None else None}))


def _find(admin: AdminClient, settings: Settings, call_id: str) -> WaitingCall:
    waiting = WaitingCalls.read(admin, settings)
    call = waiting.find(call_id)
    if call is None:
        raise NotWaitingError(waiting.why_not(call_id))
    return call


class _Waiter:
    """Reads what becomes of the parked request from the moment that it was made."""

    def __init__(self, admin: AdminClient, settings: Settings, call: WaitingCall) -> None:
        self._call = call
        place = (settings.topics.parked, call.partition)
        self._consumer = manual_consumer(settings, f"{settings.namespace}.approvals")
        self._consumer.assign([TopicPartition(*place, ends_of(admin, [place])[place])])

    def wait(self, seconds: float) -> None:
        """Until the call waits no more. Raises NotEndedError after `seconds`."""
        for message in arrivals(self._consumer, seconds):
            if message.key() == self._call.raw_key and self._call.id not in calls_left(message.value()):
                return
        raise NotEndedError(f"not within {seconds:g} s: the call still runs, or no tool worker does")

    def close(self) -> None:
        self._consumer.close()


def _details(call: WaitingCall, *, token: bool) -> dict[str, Any]:
    hidden = {"raw_key", "record_key"} if token else {"raw_key", "record_key", "token"}
    return {name: value for name, value in asdict(call).items() if name not in hidden}


def _shown(name: str, value: Any) -> str:
    now = time.time()
    if name == "asked_at":
        return f"{duration(now - value / 1000)} ago"
    if name == "deadline":
        return f"in {duration(value / 1000 - now)}"
    if isinstance(value, dict):
        return json_text(value)
    return "-" if value is None else one_line(str(value))


def _print_table(calls: list[WaitingCall]) -> None:
    if not calls:
        typer.echo("nothing waits for a person", err=True)
        return
    now = time.time()
    header = ("ID", "TOOL", "ARGUMENTS", "WHY", "AGE", "EXPIRES IN")
    rows = [
        (
            call.id,
            call.tool,
            _shortened(json_text(call.arguments)),
            _shortened(call.reason or "-"),
            duration(now - call.asked_at / 1000),
            duration(call.deadline / 1000 - now),
        )
        for call in calls
    ]
    print_table(header, rows)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_ARGUMENTS else f"{text[: _SHOWN_ARGUMENTS - 1]}…"
