"""`parkway tail`: what arrives in `<ns>.outputs`, and on request in the DLQ."""

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer
from confluent_kafka import Consumer, Message, TopicPartition

from parkway.cli.durations import parse_duration
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.parked_topic import ends_of, partitions_of
from parkway.cli.shown import json_text, one_line
from parkway.runtime.clients import admin_client, check_consumer_error, manual_consumer
from parkway.runtime.codec import EventCodec, event_codec
from parkway.runtime.records import Incoming, incoming
from parkway.runtime.settings import Settings
from parkway.schemas import headers, jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import EventType
from parkway.schemas.format_error import FormatError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_POLL: Final = 0.2
_ASK: Final = 30.0
_LONGEST: Final = 2_000


@dataclass(frozen=True, slots=True)
class _Filters:
    root: str | None
    key: bytes | None
    types: tuple[str, ...]

    def take(self, record: Incoming, given: dict[str, bytes]) -> bool:
        if self.key is not None and record.key != self.key:
            return False
        if self.root is not None and given.get(headers.ROOT_ID) != self.root.encode():
            return False
        return not self.types or given.get(headers.TYPE, b"").decode("utf-8", "replace") in self.types


@app.command()
def run(
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Begin so long ago (90s, 10m, 2h, 1d); default: now.")
    ] = None,
    dlq: Annotated[bool, typer.Option("--dlq", help="Also dead letters.")] = False,
    root: Annotated[str | None, typer.Option(metavar="ID", help="Only what this event from outside caused.")] = None,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help="Only records with this key.")] = None,
    event_type: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only events of this type; may be given again.")
    ] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="End after so many.")] = None,
    wait: Annotated[
        str | None, typer.Option(metavar="TIME", help="End when nothing has come for so long; default: never.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Print outputs and responses as they are committed, until Ctrl-C.

    Exit 1 when --wait ended it before --count was reached.

    For example:

      parkway tail --since 10m --type _chat_response_event

      parkway tail --root order-4711 --dlq --json
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    filters = _Filters(root, key.encode() if key is not None else None, tuple(event_type or ()))
    ago = parse_duration(since, "--since") if since is not None else None
    patience = parse_duration(wait, "--wait") if wait is not None else None
    consumer = _consumer(settings, ago, dlq=dlq)
    codec = event_codec(settings)
    shown = 0
    try:
        for message in _messages(consumer, patience):
            record = incoming(message)
            given = headers.as_dict(record.headers)
            if given.get(headers.ERROR_TYPE) == DlqReason.REPLAYED.encode() or not filters.take(record, given):
                continue
            typer.echo(_json(record, given, codec) if as_json else _line(record, given, codec, settings))
            shown += 1
            if shown == count:
                return
    except KeyboardInterrupt:
        return
    finally:
        consumer.close()
    if count is not None:
        typer.echo(f"error: {shown} of {count} came", err=True)
        raise typer.Exit(1)


def _consumer(settings: Settings, ago: float | None, *, dlq: bool) -> Consumer:
    admin = admin_client(settings, f"{settings.namespace}.tail")
    topics = [settings.topics.outputs, *([settings.topics.dlq] if dlq else [])]
    places = [(topic, number) for topic in topics for number in partitions_of(admin, settings, topic)]
    begins = [TopicPartition(*place, offset) for place, offset in ends_of(admin, places).items()]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    consumer = manual_consumer(settings, f"{settings.namespace}.tail")
    if ago is not None:
        then = int((time.time() - ago) * 1000)
        found = consumer.offsets_for_times([TopicPartition(*place, then) for place in places], timeout=_ASK)
        ends = {(one.topic, one.partition): one.offset for one in begins}
        begins = [
            TopicPartition(one.topic, one.partition, one.offset if one.offset >= 0 else ends[one.topic, one.partition])
            for one in found
        ]
    consumer.assign(begins)
    return consumer


def _messages(consumer: Consumer, patience: float | None) -> Iterator[Message]:
    came = time.monotonic()
    while patience is None or time.monotonic() - came < patience:
        message = consumer.poll(_POLL)
        if message is None:
            continue
        error = message.error()
        if error is not None:
            check_consumer_error(error)
            continue
        came = time.monotonic()
        yield message


def _body(record: Incoming, codec: EventCodec) -> Any:
    """The event, or the text of what is none."""
    try:
        return jsonio.loads(codec.decode(record.value or b""), max_depth=1000)
    except (jsonio.JsonError, FormatError):
        return (record.value or b"").decode("utf-8", "replace")


def _json(record: Incoming, given: dict[str, bytes], codec: EventCodec) -> str:
    line = {
        "place": f"{record.topic}/{record.partition}/{record.offset}",
        "written": record.timestamp,
        "key": record.key.decode("utf-8", "replace") if record.key is not None else None,
        "headers": {name: value.decode("utf-8", "replace") for name, value in given.items()},
        "event": _body(record, codec),
    }
    return json_text(line)


def _line(record: Incoming, given: dict[str, bytes], codec: EventCodec, settings: Settings) -> str:
    def text(header: str) -> str:
        return given.get(header, b"-").decode("utf-8", "replace")

    when = datetime.fromtimestamp(record.timestamp / 1000, UTC).strftime("%H:%M:%S")
    body = _body(record, codec)
    if record.topic == settings.topics.dlq:
        what = f"DLQ {text(headers.ERROR_TYPE)}: {text(headers.ERROR_MESSAGE)}"
        return _short(f"{when}  {text(headers.ROOT_ID)}  {what}  {record.topic}/{record.partition}/{record.offset}")
    attributes = body.get("attributes", {}) if isinstance(body, dict) else {}
    kind = text(headers.TYPE)
    if kind == EventType.OutputEvent:
        what = json_text(attributes.get("output"))
    elif attributes.get("success") is False:
        what = f"failed: {json_text(attributes.get('error'))}"
    elif isinstance(attributes.get("response"), dict):
        what = str(attributes["response"].get("content"))
    else:
        what = json_text(attributes)
    return _short(f"{when}  {text(headers.ROOT_ID)}  {kind}  {what}")


def _short(text: str) -> str:
    return one_line(text) if len(text) <= _LONGEST else f"{one_line(text[:_LONGEST])}..."
