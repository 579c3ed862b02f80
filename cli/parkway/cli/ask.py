"""A question before something is changed."""

import sys

import typer

from parkway.schemas.errors import ParkwayError


class NobodyToAskError(ParkwayError):
    """There is no terminal."""


def confirm(question: str, *, err: bool = False) -> None:
    """Go on at "yes"; at "no" and at Ctrl-C exit 1. `err`: ask on standard error, where JSON goes to standard output.

    Raises NobodyToAskError where nobody can answer: a pipe that says nothing would be waited for without an end.
    """
    if not at_a_terminal():
        raise NobodyToAskError(f"nothing is changed: there is no terminal to ask on; give --yes ({question})")
    typer.confirm(question, abort=True, err=err)


def at_a_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty()
