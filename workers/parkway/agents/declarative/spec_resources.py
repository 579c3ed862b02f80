"""The form of an agent's resources: models, stores, tables, topics."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from parkway.agents.decision_rules import HitPolicy
from parkway.agents.declarative.environment import variable_of
from parkway.agents.declarative.spec_base import Condition, FunctionSpec, Name, Reference, Spec, Text, TextOr
from parkway.schemas.plan import SinkFormat, SourceFormat

ModelRef = TextOr[FunctionSpec]


class RetrySpec(Spec):
    """How often something is tried, as `Retry` has it."""

    attempts: int | None = None
    on: list[str] | None = Field(None, description="Built-in exceptions by name, others as module:Class.")
    backoff: float | None = None
    factor: float | None = None
    max_backoff: float | None = None
    jitter: float | None = None
    max_hold: float | None = None


class UsageLimitsSpec(Spec):
    """What one request may use; pydantic-ai's names."""

    request_limit: int | None = None
    tool_calls_limit: int | None = None
    input_tokens_limit: int | None = None
    output_tokens_limit: int | None = None
    total_tokens_limit: int | None = None
    per_request_input_tokens_limit: int | None = None


def _approvals_kind(value: Any) -> str:
    if isinstance(value, list):
        return "names"
    return "by_name" if isinstance(value, dict) and value.keys() != {"function"} else "all"


Approvals = Annotated[
    Annotated[Condition, Tag("all")]
    | Annotated[list[str], Tag("names")]
    | Annotated[dict[str, Condition], Tag("by_name")],
    Discriminator(_approvals_kind),
]
"""For all tools of a server, for those with these names, or by name."""


class MCPServerSpec(Spec):
    """A server of the Model Context Protocol: at an `endpoint`, or a `command` that each worker starts."""

    ELSEWHERE: ClassVar = {"url": "write endpoint"}

    name: Name
    clazz: Literal["mcp"] | None = Field(None, description="There is no other kind.")
    endpoint: str | None = Field(None, description="A URL, reached by streamable HTTP.")
    headers: dict[str, Text] | None = Field(None, description="Of every request; may hold ${NAME}.")
    command: str | None = Field(None, description="A program, reached by stdio.")
    args: list[str] | None = None
    env: dict[str, Text] | None = Field(None, description="What the program sees beside PATH and the like; ${NAME}.")
    cwd: str | None = Field(None, description="The folder in which it runs; it begins at the YAML file.")
    prefix: str | None = Field(None, description="Its tools are called <prefix>_<name>.")
    tools: list[str] | None = Field(None, description="Only these, by the server's names.")
    timeout: float | None = None
    connect_timeout: float | None = None
    max_result_bytes: int | None = None
    requires_approval: Approvals | None = None
    approval_timeout: float | None = None

    @model_validator(mode="after")
    def _one_transport(self) -> "MCPServerSpec":
        if (self.endpoint is None) == (self.command is None):
            raise ValueError("exactly one of endpoint and command")
        others = ("args", "env", "cwd") if self.command is None else ("headers",)
        for name in others:
            if getattr(self, name) is not None:
                raise ValueError(f"{name}: of {'a command' if self.command is None else 'an endpoint'} only")
        return self


_CONNECTIONS = "there is none: the provider stands in the model's name, such as model: ollama:qwen3:8b"


class ChatModelSpec(Spec):
    """A chat model; a chat request names it."""

    ELSEWHERE: ClassVar = {
        "clazz": _CONNECTIONS,
        "connection": _CONNECTIONS,
        "output_schema": "write output_type",
        "temperature": "write settings: {temperature: ...}",
        "max_tokens": "write settings: {max_tokens: ...}",
    }

    name: Name
    model: ModelRef = Field(description="provider:model, or a function that makes a pydantic-ai model.")
    instructions: str | None = None
    prompt: str | None = Field(None, description="The name of one of the prompts.")
    tools: list[str] | None = Field(None, description="Names of tools or MCP servers, or functions as module:name.")
    output_type: TextOr[dict[str, Any]] | None = Field(
        None, description="What an answer must be: a type as module:Class, or a JSON schema."
    )
    fallbacks: list[ModelRef] | None = None
    settings: dict[str, Any] | None = Field(None, description="pydantic-ai's model settings, such as temperature.")
    max_retries: int | None = None
    max_tool_rounds: int | None = None
    timeout: float | None = Field(None, description="Seconds of one call.")
    deadline: float | None = Field(None, description="Seconds of a request without a deadline of its own.")
    usage_limits: UsageLimitsSpec | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None


class ModelRuleSpec(Spec):
    """When a model router takes which model."""

    when: str
    model: str


class ModelRouterSpec(Spec):
    """Chooses one of the chat models per request; the first rule that is true decides."""

    name: Name
    rules: list[ModelRuleSpec] = Field(default_factory=list)
    default: str


class VectorStoreBase(Spec):
    """What vector stores of all kinds have."""

    ELSEWHERE: ClassVar = {"embedding_model": "write embedder: openai:text-embedding-3-small"}

    name: Name
    embedder: ModelRef | None = Field(None, description="provider:model, hashing, or a function that makes a model.")
    embedding_settings: dict[str, Any] | None = None
    filter: dict[str, Any] | None = Field(None, description="What metadata of all documents found must say.")
    retry: RetrySpec | None = None
    timeout: float | None = None
    concurrency: int | None = None
    batch: int | None = None


class SqliteVecSpec(VectorStoreBase):
    """Documents in a file; a relative path begins at the YAML file."""

    clazz: Literal["sqlite_vec"]
    path: str
    table: str | None = None


class PgVectorSpec(VectorStoreBase):
    """Documents in a table of PostgreSQL."""

    clazz: Literal["pgvector"]
    table: str
    dsn: str | None = Field(None, description="${NAME}: the variable with the connection string; ${DATABASE_URL}.")

    @model_validator(mode="after")
    def _no_secret(self) -> "PgVectorSpec":
        _check_secret("dsn", self.dsn)
        return self


class QdrantSpec(VectorStoreBase):
    """Documents in a collection of Qdrant."""

    clazz: Literal["qdrant"]
    collection: str
    url: str | None = Field(None, description="Of the server, or ${NAME} for the variable that has it.")
    api_key: str | None = Field(None, description="${NAME}: the variable that has it.")
    path: str | None = Field(None, description="Instead of a server, a folder; it begins at the YAML file.")

    @model_validator(mode="after")
    def _no_secret(self) -> "QdrantSpec":
        _check_secret("api_key", self.api_key)
        return self


class OwnStoreSpec(VectorStoreBase):
    """A store of one's own: clazz is module:Class, a DocumentStore, or a function that makes one."""

    clazz: Reference


def _store_kind(value: Any) -> str:
    clazz = value.get("clazz") if isinstance(value, dict) else getattr(value, "clazz", None)
    return "own" if not isinstance(clazz, str) or ":" in clazz else clazz


VectorStoreSpec = Annotated[
    Annotated[SqliteVecSpec, Tag("sqlite_vec")]
    | Annotated[PgVectorSpec, Tag("pgvector")]
    | Annotated[QdrantSpec, Tag("qdrant")]
    | Annotated[OwnStoreSpec, Tag("own")],
    Discriminator(_store_kind),
]


class DecisionLimitsSpec(Spec):
    """What a host takes at most in one request."""

    options: int | None = None
    levels: int | None = None
    questions: int | None = None
    bytes: int | None = None


class DecisionModelSpec(Spec):
    """A decision model: `model` of a provider, or a `function` of (state) or (state, questions) that decides."""

    name: Name
    model: ModelRef | None = None
    function: Reference | None = None
    questions: dict[str, Any] | None = Field(None, description="By name: {type: noul|choice|score, ...}.")
    fallbacks: list[ModelRef] | None = Field(None, description="Models, or names of the agent's models and tables.")
    settings: dict[str, Any] | None = None
    limits: DecisionLimitsSpec | None = None
    max_retries: int | None = None
    timeout: float | None = None
    deadline: float | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "DecisionModelSpec":
        if (self.model is None) == (self.function is None):
            raise ValueError("exactly one of model and function")
        if self.function is not None:
            for name in ("settings", "limits", "tokens_per_minute"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name}: of a model; a function has none")
        return self


class DecisionTableSpec(Spec):
    """A decision table: rows here, or in a CSV or YAML file beside this one."""

    name: Name
    rows: list[dict[str, Any]] | None = Field(None, description="Maps with `when`, a CEL condition, and the answers.")
    file: str | None = None
    questions: dict[str, Any] | None = Field(None, description="By name: {type: noul|choice|score, ...}.")
    default: dict[str, Any] | None = Field(None, description="The answers when no row hits; of rows only.")
    hit: HitPolicy | None = None
    state: Reference | None = Field(None, description="A pydantic model of the state: names are checked against it.")
    fallbacks: list[ModelRef] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "DecisionTableSpec":
        if (self.rows is None) == (self.file is None):
            raise ValueError("exactly one of rows and file")
        if self.file is not None and self.default is not None:
            raise ValueError("default: the file has its own")
        return self


class SourceSpec(Spec):
    """A topic of somebody else's whose records are events."""

    name: Name
    topic: str
    type: str | None = None
    format: SourceFormat | None = None


class SinkSpec(Spec):
    """A topic of somebody else's that takes outputs."""

    ELSEWHERE: ClassVar = {"schema": "write avro_schema: FILE.avsc"}

    name: Name
    topic: str
    format: SinkFormat | None = None
    type: str | None = None
    source: str | None = None
    subject: str | None = None
    avro_schema: str | None = Field(None, description="A file beside this one; default: the subject's newest schema.")


def _check_secret(member: str, text: str | None) -> None:
    if text is not None and variable_of(text) is None:
        raise ValueError(f"{member}: a secret; name the environment variable that holds it: {member}: ${{NAME}}")
