"""`parkway emit`: events from a file or standard input to `<ns>.requests`, by an ordinary producer."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from confluent_kafka import KafkaError, KafkaException, Message

from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.runtime.clients import admin_client, plain_producer
from parkway.runtime.topology import TopologyError, cluster
from parkway.schemas import headers, jsonio
from parkway.schemas.errors import ParkwayError
from parkway.schemas.events import Event

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class EmitError(ParkwayError):
    """A line that is no event, or a key that is not in it."""


@app.command()
def run(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="JSON lines; default: standard input.")] = None,
    event_type: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="The lines are attributes of events of this type."),
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help="One record key for all.")] = None,
    key_from: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Take the key from each event, such as attributes.customer."),
    ] = None,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Send events to the requests topic: one JSON object a line.

    A line is an event ({"type": ..., "attributes": {...}}), or with --type only its attributes. Prints the ids.
    """
    if key is not None and key_from is not None:
        raise EmitError("--key and --key-from: give one of them")
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    topic = settings.topics.requests
    admin = admin_client(settings, f"{settings.namespace}.emit")
    if topic not in cluster(admin, settings.bootstrap_servers).topics:
        raise TopologyError(f"missing topic {topic}: run `parkway topics apply --plan plan.json`, or `parkway dev`")
    # Java's partitioner: the same key lands where Java producers put it.
    producer = plain_producer(settings, f"{settings.namespace}.emit", {"partitioner": "murmur2_random"})
    failures: list[str] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error.str())

    for number, line in _lines(file):
        event = _event(number, line, event_type)
        record_key = key if key_from is None else _key(number, event, key_from)
        while True:
            try:
                producer.produce(
                    topic,
                    event.to_json(),
                    record_key,
                    headers={headers.CONTENT_TYPE: headers.JSON_CONTENT},
                    on_delivery=on_delivery,
                )
                break
            except BufferError:
                producer.poll(0.1)
            except KafkaException as failure:
                raise EmitError(f"line {number}: {failure.args[0].str()}") from None
        typer.echo(event.id)
    producer.flush()
    if failures:
        raise EmitError(f"{len(failures)} events were not delivered: {failures[0]}")


def _lines(file: Path | None) -> Iterator[tuple[int, bytes]]:
    if file is None:
        source = sys.stdin.buffer
    else:
        try:
            source = file.open("rb")
        except OSError as error:
            raise EmitError(f"{file}: {error.strerror}") from None
    with source:
        for number, line in enumerate(source, 1):
            if line.strip():
                yield number, line


def _event(number: int, line: bytes, event_type: str | None) -> Event:
    try:
        body = jsonio.loads(line)
        if event_type is not None:
            body = {"type": event_type, "attributes": body}
        return Event.from_dict(body)
    except ValueError as error:
        hint = "" if event_type is not None else "; for plain attributes give --type"
        raise EmitError(f"line {number}: {error}{hint}") from None


def _key(number: int, event: Event, path: str) -> str:
    value: Any = event.to_dict()
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, str | int):
        raise EmitError(f"line {number}: --key-from {path}: no text or whole number there")
    return str(value)
