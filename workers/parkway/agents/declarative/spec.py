"""The form of a YAML file with agents: the document, an agent, its prompts, tools and actions.

Names of members are those of Flink Agents' YAML API where it has them.
"""

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from parkway.agents.action import BUILT_IN_ACTIONS, Order
from parkway.agents.agent import Agent
from parkway.agents.declarative.spec_base import Condition, Name, Reference, Spec, TextOr
from parkway.agents.declarative.spec_resources import (
    ChatModelSpec,
    DecisionModelSpec,
    DecisionTableSpec,
    MCPServerSpec,
    ModelRouterSpec,
    RetrySpec,
    SinkSpec,
    SourceSpec,
    VectorStoreSpec,
)
from parkway.schemas.topics import ACTION_NAME

_EMBEDDERS: Final = "there are none: write embedder: openai:text-embedding-3-small in the vector store"
_SCHEMA_URI: Final = "https://json-schema.org/draft/2020-12/schema"


def _agent_name(name: str) -> str:
    if not name.replace("-", "_").isidentifier():
        raise ValueError(f"name {name!r}: letters, digits, '_' and '-'")
    return name


def _action_name(name: str) -> str:
    action = name.replace("_", "-")
    if not ACTION_NAME.fullmatch(action):
        raise ValueError(f"name {name!r}: 1 to 64 lower-case letters, digits, '-' and '_'")
    if action in BUILT_IN_ACTIONS:
        raise ValueError(f"name {name!r}: a built-in action ({', '.join(BUILT_IN_ACTIONS)}); write my-{action}")
    if hasattr(Agent, name.replace("-", "_")):
        raise ValueError(f"name {name!r}: every agent has something of that name; choose another one")
    return name


AgentName = Annotated[str, AfterValidator(_agent_name)]
ActionName = Annotated[
    str, AfterValidator(_action_name), WithJsonSchema({"type": "string", "pattern": "^[a-z0-9_-]{1,64}$"})
]


class PromptMessageSpec(Spec):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"] = "user"
    content: str


class PromptSpec(Spec):
    """A prompt: exactly one of `text`, `messages` and `file` (a UTF-8 text beside the YAML file)."""

    name: Name
    text: str | None = None
    messages: list[PromptMessageSpec] | None = None
    file: str | None = None
    role: Literal["system", "user"] | None = Field(None, description="Of a text or file; default system.")
    defaults: dict[str, Any] | None = Field(None, description="Stand for prompt_args that a request does not bring.")

    @model_validator(mode="after")
    def _one_source(self) -> "PromptSpec":
        if sum(each is not None for each in (self.text, self.messages, self.file)) != 1:
            raise ValueError("exactly one of text, messages and file")
        if self.messages is not None and self.role is not None:
            raise ValueError("role: each of the messages has its own")
        return self


class ToolSpec(Spec):
    """A tool: a function, and what `@tool` would say of it."""

    ELSEWHERE: ClassVar = {
        "parameter_types": "of Java tools only; the schema comes from the function's signature",
        "injected_args": "write injected: [members of ToolContext], or inject: {name: fixed value}",
    }

    name: str = Field(description="The model calls it so.")
    function: Reference
    type: Literal["python"] | None = Field(None, description="There is no other language.")
    description: str | None = Field(None, description="What the model is told; default: the function's docstring.")
    timeout: float | None = Field(None, description="Seconds of one call; default 60.")
    injected: list[str] | None = Field(None, description="Parameters that get a member of ToolContext.")
    inject: dict[str, Any] | None = Field(None, description="Parameters that get a fixed value. No model sees them.")
    max_result_bytes: int | None = None
    requires_approval: Condition | None = Field(
        None, description="A person must allow calls: true, why, or a function of the arguments."
    )
    approval_timeout: float | None = Field(None, description="Seconds until nobody has answered.")


class ActionSpec(Spec):
    """An action: the events that trigger it, and the function that handles them."""

    ELSEWHERE: ClassVar = {
        "listen_to": "write trigger_conditions",
        "triggers": "write trigger_conditions",
        "config": "there is none; let the function read its settings",
    }

    name: ActionName
    function: Reference = Field(description="Of (event, ctx), or of (self, event, ctx) to get the agent as self.")
    trigger_conditions: list[str] = Field(
        min_length=1, description="Event types, their short names such as chat_response, or CEL expressions. OR'ed."
    )
    type: Literal["python"] | None = Field(None, description="There is no other language.")
    when: str | None = Field(None, description="A CEL condition that must hold as well.")
    external: bool | None = Field(None, description="Producers outside may send these event types.")
    order: Order | None = Field(None, description="key: one record of a key at a time (default).")
    concurrency: int | None = None
    retry: RetrySpec | None = None
    rate: str | None = Field(None, description="Attempts in the whole installation, such as 100/m.")
    timeout: float | None = Field(None, description="Seconds of one attempt.")
    deadline: float | None = Field(None, description="Seconds of the whole event.")
    state: bool | None = Field(None, description="The function uses ctx.state.")
    steps: bool | None = Field(None, description="The function uses ctx.step.")


class Resources(Spec):
    """What stands in an agent, or beside `agents` for all agents of the file."""

    ELSEWHERE: ClassVar = {
        "chat_models": "write chat_model_setups",
        "chat_model_connections": "there are none: the provider stands in the model's name (model: openai:gpt-5-mini), "
        "its address and key in its environment variables",
        "embedding_model_connections": _EMBEDDERS,
        "embedding_model_setups": _EMBEDDERS,
        "skills": "there are none",
    }

    prompts: list[PromptSpec] = Field(default_factory=list)
    tools: list[ToolSpec] = Field(default_factory=list)
    mcp_servers: list[MCPServerSpec] = Field(default_factory=list)
    chat_model_setups: list[ChatModelSpec] = Field(default_factory=list)
    model_routers: list[ModelRouterSpec] = Field(default_factory=list)
    vector_stores: list[VectorStoreSpec] = Field(default_factory=list)
    decision_models: list[DecisionModelSpec] = Field(default_factory=list)
    decision_tables: list[DecisionTableSpec] = Field(default_factory=list)
    sources: list[SourceSpec] = Field(default_factory=list)
    sinks: list[SinkSpec] = Field(default_factory=list)


RESOURCES: Final = tuple(Resources.model_fields)


class AgentSpec(Resources):
    """One agent: its resources, and its actions in the order of the plan."""

    name: AgentName
    description: str | None = None
    actions: list[TextOr[ActionSpec]] = Field(
        default_factory=list, description="Actions, or names of those that stand beside agents."
    )
    lifespan: Reference | None = Field(None, description="An async generator function of the agent, with one yield.")
    redact: Reference | None = Field(None, description="Of (kind, content): takes out what no journal may hold.")


class DocumentSpec(Resources):
    """A file: one agent or several. What stands beside `agents` is there for all of them."""

    agents: list[AgentSpec] = Field(min_length=1)
    actions: list[ActionSpec] = Field(default_factory=list)


def document_schema() -> dict[str, Any]:
    """Give the JSON schema (2020-12) of a file, for editors."""
    schema = DocumentSpec.model_json_schema()
    return {"$schema": _SCHEMA_URI, "$id": "urn:parkway:agent.yaml", **schema, "title": "Parkway agents"}
