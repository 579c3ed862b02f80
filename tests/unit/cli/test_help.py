"""What every command owes to who meets it first: an example, JSON where it prints data, completion."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from parkway.cli.main import _COMMANDS, app

# They print nothing to be read by programs, or only JSON.
WITHOUT_JSON = {
    "plan build",
    "plan schema",
    "router",
    "worker",
    "dev",
}
ASK = {"plan apply", "topics grow", "requests cancel", "approvals approve", "approvals deny", "dlq replay", "doctor"}


def leaves(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield path, command
        return
    for name, child in inner.items():
        yield from leaves(child, f"{path} {name}")


def every_command() -> dict[str, Any]:
    root = typer.main.get_command(app)
    return {path: leaf for name in _COMMANDS for path, leaf in leaves(root.get_command(None, name), name)}


EVERY = every_command()


@pytest.mark.parametrize("path", EVERY)
def test_every_command_has_an_example_and_json(path: str) -> None:
    command = EVERY[path]
    options = {option for parameter in command.params for option in parameter.opts}
    assert f"parkway {path.removesuffix(' send')}" in command.help.partition("For example:")[2]
    assert ("--json" in options) == (path not in WITHOUT_JSON)
    assert ("--yes" in options) == (path in ASK)


def test_a_shell_completes_commands() -> None:
    environment = {**os.environ, "_PARKWAY_COMPLETE": "complete_bash", "COMP_CWORD": "1", "COMP_WORDS": "parkway tr"}
    program = "import sys; sys.argv = ['parkway']; from parkway.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.split() == ["trace", "trigger"], done.stderr
