"""`parkway request`: send requests, wait for their answers, print them."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from parkway.cli.durations import parse_duration
from parkway.cli.event_lines import event_lines, key_of
from parkway.cli.options import Bootstrap, KafkaSettings, Namespace, make_settings
from parkway.cli.outcome import error_json
from parkway.cli.shown import block, json_text, one_line
from parkway.client import Client, ClientError
from parkway.client.waiters import RESPONSES
from parkway.schemas import headers
from parkway.schemas.errors import ParkwayError
from parkway.schemas.event_types import EventType
from parkway.schemas.events import ChatMessage, ChatRequestEvent, Event, OutputEvent

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_AT_ONCE: Final = 1_000


class RequestError(ParkwayError):
    """A call that says no request, or two."""


@dataclass(frozen=True, slots=True)
class _Asked:
    event: Event
    key: str | None


@app.command()
def run(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="JSON lines; default: standard input.", show_default=False)
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="One chat request with this text.")] = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="The chat model that --text is for.")] = "assistant",
    event_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="The lines are attributes of events of this type.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help="One record key for all.")] = None,
    key_from: Annotated[
        str | None, typer.Option(metavar="PATH", help="Take the key from each event, such as attributes.customer.")
    ] = None,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="For each: 90s, 10m. Also its deadline.")] = "60s",
    tenant: Annotated[str | None, typer.Option(metavar="TEXT", help="The header parkway-tenant.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="TEXT", help="The header parkway-subject.")] = None,
    reply_topic: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Wait there, not in <ns>.outputs; the plan must list it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each answer as JSON, one a line.")] = False,
    bootstrap_servers: Bootstrap = None,
    namespace: Namespace = None,
    kafka: KafkaSettings = None,
) -> None:
    """Send requests to an installation and wait for their answers: a response, or the first output of other events.

    A line is an event ({"type": ..., "attributes": {...}}), or with --type only its attributes. A thousand are under
    way at once; answers are printed as they come. Ctrl-C and timeouts cancel chats.

    Exit 1 when an answer says that its request failed, when one ended in the DLQ, or when none came in time.

    For example:

      parkway request --text "Where is my order?" --key Ann

      parkway request tickets.jsonl --type ticket --key-from attributes.customer --json --timeout 5m
    """
    settings = make_settings(kafka, bootstrap_servers=bootstrap_servers, namespace=namespace)
    seconds = parse_duration(timeout, "--timeout")
    if text is not None and (file is not None or event_type is not None):
        raise RequestError("--text is a request of its own: leave FILE and --type out")
    if key is not None and key_from is not None:
        raise RequestError("--key and --key-from: give one of them")
    asked = _asked(file, text, model, event_type, key, key_from)
    client = Client(settings.bootstrap_servers, settings.namespace, reply_topic=reply_topic, kafka=settings.kafka)
    given = {name: value for name, value in ((headers.TENANT, tenant), (headers.SUBJECT, subject)) if value is not None}
    try:
        failed = asyncio.run(_Run(client, seconds, given, as_json=as_json).all(asked))
    except KeyboardInterrupt:
        typer.echo("stopped: the chats that were under way are cancelled", err=True)
        raise typer.Exit(130) from None
    if failed:
        raise typer.Exit(1)


def _asked(
    file: Path | None, text: str | None, model: str, event_type: str | None, key: str | None, key_from: str | None
) -> Iterator[_Asked]:
    if text is not None:
        yield _Asked(ChatRequestEvent(model=model, messages=[ChatMessage.user(text)]), key)
        return
    for number, event in event_lines(file, event_type):
        yield _Asked(event, key if key_from is None else key_of(number, event, key_from))


class _Run:
    """Asks everything, and counts what failed."""

    def __init__(self, client: Client, seconds: float, given: dict[str, str], *, as_json: bool) -> None:
        self._client = client
        self._seconds = seconds
        self._given = given
        self._as_json = as_json
        self._failed = 0

    async def all(self, asked: Iterator[_Asked]) -> int:
        """Returns how many have failed."""
        async with self._client as client:
            running: set[asyncio.Task[None]] = set()
            try:
                for one in asked:
                    running.add(asyncio.ensure_future(self._one(client, one)))
                    if len(running) >= _AT_ONCE:
                        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                        _raise_first(done)
                await asyncio.gather(*running)
            except BaseException:
                for task in running:
                    task.cancel()
                with contextlib.suppress(Exception):
                    await asyncio.gather(*running, return_exceptions=True)
                raise
        return self._failed

    async def _one(self, client: Client, asked: _Asked) -> None:
        wait = client.request if asked.event.type in RESPONSES else client.ask
        try:
            answer: Event = await wait(asked.event, key=asked.key, timeout=self._seconds, headers=self._given)
        except ClientError as error:
            self._failed += 1
            if self._as_json:
                typer.echo(json_text({"id": asked.event.id, "error": error_json(error)}))
            else:
                typer.echo(one_line(f"error: {error}"), err=True)
            return
        self._failed += answer.attributes.get("success", True) is False
        typer.echo(answer.to_json().decode() if self._as_json else _pretty(answer))


def _raise_first(done: set[asyncio.Task[None]]) -> None:
    for task in done:
        task.result()


def _pretty(answer: Event) -> str:
    """The text of a chat's answer, an output, or the attributes of any other response; of a failed one its error."""
    attributes: dict[str, Any] = answer.attributes
    if attributes.get("success") is False and isinstance(attributes.get("error"), dict):
        error = attributes["error"]
        return one_line(f"failed: {error.get('type')}: {error.get('message')}")
    if answer.type == EventType.ChatResponseEvent and isinstance(attributes.get("response"), dict):
        return block(str(attributes["response"].get("content", "")))
    shown = attributes.get("output") if isinstance(answer, OutputEvent) else attributes
    return block(shown) if isinstance(shown, str) else json_text(shown, indent=2)
