"""`parkway requests cancel`: end a request by its id, wherever it is."""

import time
from base64 import b64decode
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

import typer
from confluent_kafka import Message, TopicPartition
from confluent_kafka.admin import AdminClient

from parkway.cli.arrivals import arrivals
from parkway.cli.ask import confirm
from parkway.cli.durations import parse_duration
from parkway.cli.operator_event import send_event
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.outcome import NotDoneError, OutcomeAsJson, errors
from parkway.cli.parked import describe
from parkway.cli.parked_topic import ParkedMessage, ends_of, parked_messages, partitions_of
from parkway.cli.shown import json_text, one_line
from parkway.runtime.clients import admin_client, manual_consumer
from parkway.runtime.codec import event_codec
from parkway.runtime.settings import Settings
from parkway.runtime.topology import cluster
from parkway.schemas import headers, jsonio
from parkway.schemas.errors import ParkwayError
from parkway.schemas.event_types import EventType
from parkway.schemas.events import CancelRequestEvent
from parkway.schemas.parked import ParkedError, ParkedKind, ParkedRecord

app = typer.Typer(no_args_is_help=True, help="Requests on their way: cancel one.")

_ANSWERS: Final = frozenset({EventType.ChatResponseEvent, EventType.DecisionResponseEvent})


class CannotCancelError(ParkwayError):
    """A request that cannot be cancelled this way."""


class NoResponseError(NotDoneError):
    """The cancellation was sent, and no response came in time."""


@dataclass(frozen=True, slots=True)
class _Target:
    """Whom to ask: the partition that a request is parked in, or every partition."""

    partitions: list[int]
    parked: ParkedMessage | None

    @property
    def record(self) -> ParkedRecord | None:
        """The parked record; None when there is none that can be read."""
        if self.parked is None or self.parked.value is None:
            return None
        try:
            return ParkedRecord.from_json(self.parked.value)
        except ParkedError:
            return None


@app.callback()
def _requests() -> None:
    """Keep `cancel` a word of its own."""


@app.command("cancel")
def cancel(
    request_id: Annotated[str, typer.Argument(metavar="ID", help="The request's id.")],
    action: Annotated[str, typer.Option(metavar="NAME", help="The action that answers it.")] = "chat",
    partition: Annotated[int | None, typer.Option(min=0, help="The request's partition, if you know it.")] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Stands in the failed response.")] = None,
    remember: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long a request may still come that has not yet (the default deadline)."),
    ] = None,
    wait: Annotated[str | None, typer.Option(metavar="TIME", help="Wait for the response, at most so long.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: OutcomeAsJson = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """End a request in its failed response `cancelled`: queued, in its first call, parked or running.

    Its tools are cancelled, too. A request that has ended stays as it is. Needs the right to write to <ns>.events.
    Exit 1 when --wait ends without a response.

    For example:

      parkway requests cancel order-4711 --reason "the customer called" --wait 30s

      parkway requests cancel 7f8b1c52 --partition 3 --yes --json
    """
    with errors(as_json=as_json, id=request_id):
        settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
        admin = admin_client(settings, f"{settings.namespace}.requests")
        seconds = parse_duration(wait, "--wait") if wait is not None else None
        if seconds is not None and action == "tool":
            raise CannotCancelError("--wait: a tool request that is cancelled ends without a response; leave it out")
        kept = parse_duration(remember, "--remember") if remember is not None else settings.request_deadline
        target = _find(admin, settings, request_id, action, partition)
        if not yes:
            confirm(_question(request_id, action, target), err=as_json)
        waiter = _Waiter(admin, settings, request_id, target.record) if seconds is not None else None
        ended: _Ended | None = None
        try:
            _send(settings, CancelRequestEvent(request_id=request_id, action=action, reason=reason), target, kept)
            if not as_json:
                typer.echo(_done(request_id, action, target, kept))
            if waiter is not None and seconds is not None:
                ended = waiter.wait(seconds)
        finally:
            if waiter is not None:
                waiter.close()
    if as_json:
        typer.echo(json_text(_as_json(request_id, action, target, kept, ended)))
    elif ended is not None:
        typer.echo(f"{one_line(ended.outcome)} (response in {ended.place})")


def _find(admin: AdminClient, settings: Settings, request_id: str, action: str, partition: int | None) -> _Target:
    topics = settings.topics
    there = cluster(admin, settings.bootstrap_servers).topics
    if topics.resume(action) not in there:
        prefix = topics.resume("")
        known = ", ".join(sorted(name.removeprefix(prefix) for name in there if name.startswith(prefix)))
        raise CannotCancelError(
            f"--action {action}: no topic {topics.resume(action)}; of namespace {settings.namespace!r} the requests of "
            f"these can be cancelled: {known or 'none'}"
        )
    partitions = partitions_of(admin, settings, topics.events)
    if partition is not None:
        if partition not in partitions:
            raise CannotCancelError(f"--partition {partition}: {topics.events} has 0 to {len(partitions) - 1}")
        return _Target([partition], None)
    parked: ParkedMessage | None = None
    for message in parked_messages(admin, settings):
        if message.key == (request_id, action, ParkedKind.REQUEST):
            parked = message if message.value is not None else None
    return _Target([parked.partition] if parked is not None else partitions, parked)


def _question(request_id: str, action: str, target: _Target) -> str:
    if target.parked is not None:
        place = f"parked in partition {target.parked.partition} ({describe(target.parked)})"
    elif len(target.partitions) == 1:
        place = f"looked for in partition {target.partitions[0]}"
    else:
        place = f"not parked: queued, in its first call, or over; all {len(target.partitions)} partitions are asked"
    return f"{action} request {request_id!r} is {place}. Cancel it?"


def _done(request_id: str, action: str, target: _Target, kept: float) -> str:
    if target.parked is not None:
        return f"cancellation of {action} request {request_id!r} sent to partition {target.parked.partition}"
    count = len(target.partitions)
    where = f"partition {target.partitions[0]}" if count == 1 else f"all {count} partitions"
    return (
        f"cancellation of {action} request {request_id!r} sent to {where}; where it has not come yet, "
        f"it is remembered for {kept:g} s"
    )


def _as_json(request_id: str, action: str, target: _Target, kept: float, ended: "_Ended | None") -> dict[str, Any]:
    """`remembered`, in seconds: where the request has not come yet; null where it was found."""
    return {
        "id": request_id,
        "action": action,
        "partitions": target.partitions,
        "parked": target.parked is not None,
        "remembered": None if target.parked is not None else kept,
        "outcome": None if ended is None else ended.outcome,
        "response": None if ended is None else ended.place,
    }


def _send(settings: Settings, event: CancelRequestEvent, target: _Target, kept: float) -> None:
    key = None if target.record is None or target.record.record_key is None else b64decode(target.record.record_key)
    until = {headers.DEADLINE: str(int((time.time() + kept) * 1000))}
    send_event(settings, f"{settings.namespace}.requests", event, key, target.partitions, until)


class _Ended(NamedTuple):
    outcome: str  # `cancelled`, another error type, or `success`
    place: str  # of the response: topic/partition/offset


class _Waiter:
    """Reads responses from the moment that it was made, wherever the request's may go."""

    def __init__(self, admin: AdminClient, settings: Settings, request_id: str, parked: ParkedRecord | None) -> None:
        self._request_id = request_id
        self._codec = event_codec(settings)
        topics = [settings.topics.outputs, settings.topics.events]
        if parked is not None and parked.origin.reply_to is not None:
            topics.append(parked.origin.reply_to)
        places = [(topic, number) for topic in topics for number in partitions_of(admin, settings, topic)]
        ends = ends_of(admin, places)
        self._consumer = manual_consumer(settings, f"{settings.namespace}.requests")
        self._consumer.assign([TopicPartition(*place, offset) for place, offset in ends.items()])

    def wait(self, seconds: float) -> _Ended:
        """What the response says. Raises NoResponseError after `seconds` without one."""
        for message in arrivals(self._consumer, seconds):
            outcome = self._outcome(message)
            if outcome is not None:
                return _Ended(outcome, f"{message.topic()}/{message.partition()}/{message.offset()}")
        raise NoResponseError(
            f"no response within {seconds:g} s: the request has ended before, has not come yet, or waits for a "
            "free worker"
        )

    def close(self) -> None:
        self._consumer.close()

    def _outcome(self, message: Message) -> str | None:
        """`cancelled`, another error type, or `success`; None for what is no response to the request."""
        given = headers.as_dict(message.headers() or [])  # type: ignore[arg-type]  # never the dict form on a consumer
        if given.get(headers.TYPE, b"").decode("utf-8", "replace") not in _ANSWERS:
            return None
        try:
            event = jsonio.loads(self._codec.decode(message.value() or b""), max_depth=1000)
            attributes = event["attributes"]
            if attributes["request_id"] != self._request_id:
                return None
            return "success" if attributes.get("success", True) else str(attributes["error"]["type"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
