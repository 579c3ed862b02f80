"""`parkway emit`: events from a file or standard input to `<ns>.requests`, by an ordinary producer."""

from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka import KafkaError, KafkaException, Message

from parkway.cli.event_lines import event_lines, key_of
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.runtime.clients import admin_client, plain_producer
from parkway.runtime.topology import TopologyError, cluster
from parkway.schemas import headers
from parkway.schemas.errors import ParkwayError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class EmitError(ParkwayError):
    """Events that were not sent; the message says why."""


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

    for number, event in event_lines(file, event_type):
        record_key = key if key_from is None else key_of(number, event, key_from)
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
