"""`parkway init`: an agent, its events and its test, that run as they are."""

import json
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Annotated, Final

import typer

from parkway.schemas.errors import ParkwayError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

# Under a name that no import and no test run takes for a module.
_FILES: Final = {
    "support.py": "an agent: a chat model with a tool, and three actions",
    "tickets.jsonl": "events to send to it",
    "test_support.py": "its test, without a broker and without a key",
}


class InitError(ParkwayError):
    """A folder that cannot be filled."""


@app.command()
def run(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Made if it is not there.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the files' paths as JSON.")] = False,
) -> None:
    """Write three files to begin with: an agent, events for it, a test of it. They run without an API key.

    What is there already is never overwritten: exit 2, and nothing is written.

    For example:

      parkway init my-agent && cd my-agent && parkway dev support:Support
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InitError(f"folder {folder}: {error.strerror}") from None
    there = [name for name in _FILES if (folder / name).exists()]
    if there:
        raise InitError(f"{folder / there[0]} is there already, and nothing is overwritten: give another folder")
    for name in _FILES:
        try:
            (folder / name).write_bytes(files("parkway.cli").joinpath("init_files", f"{name}.txt").read_bytes())
        except OSError as error:
            raise InitError(f"{folder / name}: {error.strerror}") from None
    if as_json:
        typer.echo(json.dumps([str(folder / name) for name in _FILES]))
        return
    for name, what in _FILES.items():
        typer.echo(f"{folder / name!s:<30} {what}")
    for line in _next(folder):
        typer.echo(line)


def _next(folder: Path) -> list[str]:
    into = [] if folder == Path() else [f"  cd {quote(str(folder))}"]
    return [
        "",
        "Next:",
        *into,
        "  pytest                                       run its test (pip install pytest)",
        "  parkway plan build support:Support           see what a router will know of it",
        "  parkway dev support:Support                  start Kafka, router, worker (needs 'parkway[dev]'); then",
        "                                               in another terminal in this folder:",
        "  parkway request tickets.jsonl --key-from attributes.customer",
        "  parkway trace ticket-1                       what a ticket has caused",
        "",
        "A real model: PARKWAY_MODEL=openai:gpt-5-mini parkway dev support:Support  (pip install 'parkway[openai]')",
    ]
