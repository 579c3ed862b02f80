"""How a command that does one thing says what went wrong: in a line on standard error, or as JSON where `--json` is.

The JSON is `{"error": {"type", "message"}}` on standard output, beside what the command is about. Exit codes are the
same in both forms.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from parkway.cli.shown import json_text, one_line
from parkway.schemas.errors import ParkwayError

OutcomeAsJson = Annotated[bool, typer.Option("--json", help="Print what was done, or why not, as one JSON object.")]


class NotDoneError(Exception):
    """The command is right, and what it asks for is not there or did not happen in time: exit 1."""


def error_json(error: Exception) -> dict[str, str]:
    """`{"type", "message"}`; the type is a word made of the class: `RequestTimeoutError` is `request_timeout`."""
    name = type(error).__name__.removesuffix("Error")
    word = "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")
    return {"type": word, "message": str(error)}


@contextmanager
def errors(*, as_json: bool, **about: Any) -> Iterator[None]:
    """Say what the block raises: NotDoneError ends in exit 1, ParkwayError in exit 2. `about` stands in the JSON."""
    try:
        yield
    except (NotDoneError, ParkwayError) as error:
        if as_json:
            typer.echo(json_text({**about, "error": error_json(error)}))
        elif isinstance(error, ParkwayError):
            raise  # it is said where all of them are, in main.py
        else:
            typer.echo(f"error: {one_line(str(error))}", err=True)
        raise typer.Exit(2 if isinstance(error, ParkwayError) else 1) from None
