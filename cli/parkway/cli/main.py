"""Entry point: the commands, and what becomes of errors (one clear line, exit code 2)."""

import importlib
import os
import sys
import traceback
from importlib.metadata import version
from platform import python_version
from typing import Annotated, Any, Final

import typer
from confluent_kafka import KafkaException, libversion
from typer.core import TyperGroup

from parkway.cli.interrupt import quiet_ctrl_c
from parkway.cli.shown import block
from parkway.runtime.not_ready import NotReadyError
from parkway.runtime.transaction_errors import FatalTransactionError
from parkway.schemas.errors import ParkwayError

# Command -> module. Imported when called: a router must not load a model library, and `emit` must be quick.
_COMMANDS: Final = {
    "init": "parkway.cli.init",
    "plan": "parkway.cli.plan",
    "topics": "parkway.cli.topics",
    "router": "parkway.cli.router",
    "worker": "parkway.cli.worker",
    "dev": "parkway.cli.dev",
    "emit": "parkway.cli.emit",
    "index": "parkway.cli.index",
    "request": "parkway.cli.request_group",
    "tail": "parkway.cli.tail_command",
    "trace": "parkway.cli.trace",
    "lag": "parkway.cli.lag",
    "doctor": "parkway.cli.doctor",
    "trigger": "parkway.cli.trigger",
    "requests": "parkway.cli.requests",
    "parked": "parkway.cli.parked",
    "approvals": "parkway.cli.approvals",
    "dlq": "parkway.cli.dlq",
}


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  typer's signature
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        with quiet_ctrl_c():
            command = typer.main.get_command(importlib.import_module(module).app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=_Commands,
    help="LLM agents as Kafka-native workers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"parkway {version('parkway')}, librdkafka {libversion()[0]}, Python {python_version()}")
        raise typer.Exit


@app.callback()
def _parkway(
    _: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the versions and exit.")
    ] = False,
) -> None:
    """LLM agents as Kafka-native workers."""


def main() -> None:
    """Run the command line. Exit 2: the call, a setting, a plan or a topic is wrong; 1: it failed while running."""
    try:
        app()
    except ParkwayError as error:
        _say(error)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
    except KeyboardInterrupt:  # before a command has begun: typer sees to the rest
        sys.exit(130)
    except (FatalTransactionError, KafkaException, NotReadyError) as error:
        _say(error)
        _exit_now()
    except Exception:
        traceback.print_exc()
        _exit_now()


def _say(error: BaseException) -> None:
    sys.stderr.write(f"error: {block(str(error))}\n")


def _exit_now() -> None:
    """Exit 1, for a supervisor to start another. At once: clients and threads may wait for a broker that is gone."""
    sys.stderr.flush()
    os._exit(1)
