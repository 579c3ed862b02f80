"""Settings of every process: `PARKWAY_*` in the environment, and the command line's flags over them."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariableError

from parkway.schemas.errors import ParkwayError
from parkway.schemas.topics import Topics

# Settings of librdkafka that exactly-once depends on: they are ours, not the user's.
OWNED: Final = frozenset(
    {
        "auto.offset.reset",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.idempotence",
        "enable.partition.eof",
        "group.id",
        "group.protocol",
        "isolation.level",
        "partition.assignment.strategy",
        "transactional.id",
        "bootstrap.servers",
        "client.id",
    }
)
_KAFKA_PREFIX: Final = "PARKWAY_KAFKA_"


class SettingsError(ParkwayError):
    """A setting that cannot be used; the message names it and says what it takes."""


class Settings(BaseSettings):
    """One process's settings. Seconds unless the name says otherwise."""

    model_config = SettingsConfigDict(env_prefix="PARKWAY_", extra="ignore", frozen=True)

    bootstrap_servers: str = "127.0.0.1:9092"
    namespace: str = "parkway"
    instance: str | None = None  # default: host name and the first free slot on this host
    state_dir: Path = Path(".parkway")  # where `parkway dev` keeps the broker's data
    session_timeout: float = Field(default=45.0, ge=1, le=1800)  # a dead member's partitions wait this long
    start_timeout: float = Field(default=60.0, ge=0, le=3600)  # what a start waits for Kafka to be ready
    transaction_timeout: float = Field(default=30.0, ge=1, le=900)
    drain: float = Field(default=25.0, ge=0, le=3600)  # what SIGTERM grants to running handlers
    concurrency: int = Field(default=100, ge=1, le=10_000)  # running handlers per action
    process_concurrency: int = Field(default=10_000, ge=1, le=100_000)  # running handlers over all actions
    max_open: int = Field(
        default=1000, ge=1
    )  # parked requests per action and worker, but for those that wait for a person
    max_awaiting: int = Field(default=10_000, ge=1)  # the same of those that wait for a person, counted apart
    request_deadline: float = Field(default=600.0, ge=1, le=31_536_000)  # of a request that names none; a year at most
    max_parked_bytes: int = Field(default=900_000, ge=1_000)
    max_state_bytes: int = Field(default=100_000, ge=100, le=1_000_000)  # of one key's `ctx.state`
    buffer_bytes: int = Field(default=64 * 1024 * 1024, ge=1)  # of records in hand, per action and lane; of results
    kept_bytes: int = Field(default=256 * 1024 * 1024, ge=0)  # parked indexes of revoked partitions, for a minute
    parked_store: str = Field(default="memory", pattern="^(memory|disk)$")  # disk: with the extra parkway[disk]
    parked_dir: Path | None = None  # of the store on disk; default: under the folder for temporary files
    log_format: str = Field(default="auto", pattern="^(auto|json|console)$")
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")
    http_port: int | None = Field(default=None, ge=0, le=65535)  # metrics and health; 0: any free one
    http_host: str = "0.0.0.0"  # noqa: S104  probes and scrapes come from other hosts
    capture_content: bool = False  # may prompts, answers and provider errors stand in logs and error texts?
    journal_content: Literal["none", "redacted", "full"] | None = None  # default: full with capture_content, else none
    schema_registry: str | None = None  # URL of a Confluent schema registry, for Avro
    wire_format: str = Field(default="json", pattern="^(json|avro)$")  # what is written; both are read
    kafka: dict[str, str] = Field(default_factory=dict)  # passed to librdkafka as they are

    @field_validator("namespace")
    @classmethod
    def _namespace(cls, value: str) -> str:
        return Topics(value).namespace

    @field_validator("kafka")
    @classmethod
    def _not_ours(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if name in OWNED:
                raise ValueError(f"{name} is set by Parkway (exactly-once depends on it) and cannot be changed")
        return value

    @property
    def topics(self) -> Topics:
        return Topics(self.namespace)


# Read elsewhere: the broker of `dev` and tests, and the models of the examples.
_OTHERS: Final = ("PARKWAY_BROKER", "PARKWAY_CACHE_DIR", "PARKWAY_EMBEDDER", "PARKWAY_MODEL")


def unknown_variables() -> dict[str, str | None]:
    """`PARKWAY_*` variables that name no setting -> the closest setting, if one is close."""
    known = [f"PARKWAY_{name.upper()}" for name in Settings.model_fields] + list(_OTHERS)
    unknown = [
        name
        for name in os.environ
        if name.startswith("PARKWAY_") and not name.startswith(_KAFKA_PREFIX) and name not in known
    ]
    return {name: next(iter(difflib.get_close_matches(name, known, 1)), None) for name in unknown}


def load_settings(kafka: Mapping[str, str] | None = None, **flags: Any) -> Settings:
    """Environment first, then `flags` that are not None. Raises SettingsError.

    `PARKWAY_KAFKA_SECURITY_PROTOCOL=SSL` gives librdkafka `security.protocol=SSL`; `kafka` goes over it.
    """
    passed = {
        name.removeprefix(_KAFKA_PREFIX).lower().replace("_", "."): value
        for name, value in os.environ.items()
        if name.startswith(_KAFKA_PREFIX)
    }
    passed.update(kafka or {})
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings(kafka=passed, **given)
    except ValidationError as error:
        raise SettingsError(_explain(error.errors()[0])) from None
    except UnreadableVariableError:  # only of `kafka`, the one setting that is no plain value
        raise SettingsError(
            'PARKWAY_KAFKA: expected a JSON object of librdkafka settings, such as {"security.protocol": "SSL"}; '
            "or set each by a variable of its own, such as PARKWAY_KAFKA_SECURITY_PROTOCOL=SSL"
        ) from None


def _explain(problem: ErrorDetails) -> str:
    name = str(problem["loc"][0])
    reason = problem["msg"].removeprefix("Value error, ")
    if name == "kafka":
        return f"-X (or PARKWAY_KAFKA_...): {reason}"
    return f"PARKWAY_{name.upper()} (or its flag): {reason}, not {problem['input']!r}"
