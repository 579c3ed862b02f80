"""`parkway emit`: events from a file or standard input to `<ns>.requests`, by an ordinary producer."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka import KafkaError, KafkaException, Message

from parkway.cli.event_lines import event_lines, key_of
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.progress import progress
from parkway.runtime.clients import admin_client, plain_producer
from parkway.runtime.settings import Settings
from parkway.runtime.topology import TopologyError, cluster
from parkway.schemas import headers
from parkway.schemas.errors import ParkwayError
from parkway.schemas.events import Event

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_POLL_EVERY = 1_000


class EmitError(ParkwayError):
    """Events that were not sent; the message says why."""


@app.command()
def run(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="JSON lines; default: standard input.")] = None,
    event_type: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="The lines are attributes of events of this type."),
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help="One record key for all.")] = None,
    key_from: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Take the key from each event, such as attributes.customer."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no ids.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print {id, topic, partition, offset} of each as Kafka has it.")
    ] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Send events to the requests topic: one JSON object a line.

    A line is an event ({"type": ..., "attributes": {...}}), or with --type only its attributes. Prints the ids. A line
    that cannot be read ends it, with its number: what stands before it was sent. So does Ctrl-C (exit 130).

    Exit 1 when Kafka refused a record.

    For example:

      echo '{"customer": "ann", "amount": 250}' | parkway emit --type ticket --key ann

      parkway emit tickets.jsonl --key-from attributes.customer --quiet
    """
    if key is not None and key_from is not None:
        raise EmitError("--key and --key-from: give one of them")
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    topic = settings.topics.requests
    admin = admin_client(settings, f"{settings.namespace}.emit")
    if topic not in cluster(admin, settings.bootstrap_servers).topics:
        raise TopologyError(f"missing topic {topic}: run `parkway topics apply --plan plan.json`, or `parkway dev`")
    emitter = _Emitter(settings, ids=not quiet and not as_json, as_json=as_json)
    pairs = (
        (event, key if key_from is None else key_of(number, event, key_from))
        for number, event in event_lines(file, event_type)
    )
    try:
        emitter.send(pairs, _lines_of(file))
    except KeyboardInterrupt:
        emitter.finish()
        typer.echo(f"stopped: {emitter.delivered:,} events were sent", err=True)
        raise typer.Exit(130) from None
    except ParkwayError:
        emitter.finish()
        typer.echo(f"{emitter.delivered:,} events were sent before it", err=True)
        raise
    emitter.finish()
    if emitter.failures:
        typer.echo(f"error: {len(emitter.failures)} events were not delivered: {emitter.failures[0]}", err=True)
        raise typer.Exit(1)


def _lines_of(file: Path | None) -> int:
    """How many lines there are to send, where a bar is to show it."""
    if file is None or not sys.stderr.isatty() or not file.is_file():
        return 0
    with file.open("rb") as lines:
        return sum(1 for _ in lines)


class _Emitter:
    """Counts what Kafka took and what it refused. Java's partitioner: a key lands where Java producers put it."""

    def __init__(self, settings: Settings, *, ids: bool, as_json: bool) -> None:
        self._topic = settings.topics.requests
        self._producer = plain_producer(
            settings, f"{settings.namespace}.emit", {"partitioner": "murmur2_random", "linger.ms": 5}
        )
        self._ids = ids
        self._as_json = as_json
        self.delivered = 0
        self.failures: list[str] = []

    def send(self, pairs: Iterable[tuple[Event, str | None]], lines: int) -> None:
        """Queue them all. A bar stands on the terminal when no ids do."""
        bar = lines if not (self._ids or self._as_json) or not sys.stdout.isatty() else 0
        with progress("sending", bar) as advance:
            for number, (event, key) in enumerate(pairs, 1):
                self._produce(event, key)
                if self._ids:
                    typer.echo(event.id)
                if number % _POLL_EVERY == 0:
                    self._producer.poll(0)
                    advance(_POLL_EVERY)
            self._producer.flush()

    def finish(self) -> None:
        """Wait for what is queued."""
        self._producer.flush()

    def _produce(self, event: Event, key: str | None) -> None:
        given: headers.Headers = [(headers.CONTENT_TYPE, headers.JSON_CONTENT)]
        event_id = event.id

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            self._delivered(event_id, error, message)

        while True:
            try:
                self._producer.produce(self._topic, event.to_json(), key, headers=given, on_delivery=on_delivery)
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as failure:
                raise EmitError(f"event {event.id!r}: {failure.args[0].str()}") from None
            else:
                return

    def _delivered(self, event_id: str, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(error.str())
            return
        self.delivered += 1
        if self._as_json:
            place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
            typer.echo(json.dumps({"id": event_id, **place}))
