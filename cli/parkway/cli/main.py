"""Entry point: the commands, and what becomes of errors (one clear line, exit code 2)."""

import sys
from typing import Final

import typer
from confluent_kafka import KafkaException

from parkway.agents.errors import AgentError
from parkway.cli import dev, emit, plan, router, topics, worker
from parkway.router.cel import TriggerLoadError
from parkway.runtime.instance import InstanceError
from parkway.runtime.settings import SettingsError
from parkway.runtime.topology import TopologyError
from parkway.runtime.transactions import FatalTransactionError
from parkway.schemas.plan import PlanError
from parkway.testing.kafka import BrokerError

app = typer.Typer(
    help="LLM agents as Kafka-native workers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(plan.app, name="plan")
app.add_typer(topics.app, name="topics")
app.command("router")(router.run)
app.command("worker")(worker.run)
app.command("dev")(dev.run)
app.command("emit")(emit.run)

# What the user can mend: said in one line, without a traceback.
_MENDABLE: Final = (
    AgentError,
    BrokerError,
    InstanceError,
    PlanError,
    SettingsError,
    TopologyError,
    TriggerLoadError,
    emit.EmitError,
)
# What a supervisor should answer with a restart.
_RUN_TIME: Final = (FatalTransactionError, KafkaException)


def main() -> None:
    """Run the command line. Exit 2: the call, a setting, a plan or a topic is wrong; 1: it failed while running."""
    try:
        app()
    except _MENDABLE as error:
        _say(error)
        sys.exit(2)
    except _RUN_TIME as error:
        _say(error)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)


def _say(error: BaseException) -> None:
    sys.stderr.write(f"error: {error}\n")
