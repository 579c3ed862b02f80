"""Chat messages and tool calls, in the JSON of Flink Agents."""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from parkway.schemas.wire_model import ListOf, WireModel

# Key in `extra_args` of a tool message: the id that the model's provider gave the call.
EXTERNAL_ID = "external_id"


class FunctionCall(WireModel):
    """Name of a tool and the arguments the model chose for it."""

    model_config = ConfigDict(extra="allow")

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class ToolCall(WireModel):
    """One call that a model asks for. `original_id` is the provider's id where `id` is ours."""

    model_config = ConfigDict(extra="allow")
    OMITTED: ClassVar[frozenset[str]] = frozenset({"original_id"})

    id: str
    type: str = "function"
    function: FunctionCall
    original_id: str | None = None


class ChatMessage(WireModel):
    """What a model is told or answers. Raises pydantic's ValidationError for a member it does not know."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "user", "assistant", "tool"] = "user"
    content: str = ""
    tool_calls: ListOf[ToolCall] = Field(default_factory=list)
    extra_args: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def system(cls, text: str) -> "ChatMessage":
        """Instructions to the model."""
        return cls(role="system", content=text)

    @classmethod
    def user(cls, text: str) -> "ChatMessage":
        """What the user says."""
        return cls(role="user", content=text)

    @classmethod
    def assistant(cls, text: str, tool_calls: Iterable[ToolCall] = ()) -> "ChatMessage":
        """What the model answered, with the calls it asks for."""
        return cls(role="assistant", content=text, tool_calls=list(tool_calls))

    @classmethod
    def tool(cls, text: str, call_id: str) -> "ChatMessage":
        """The result of a tool call, for the model. `call_id` stands under `external_id` in `extra_args`."""
        return cls(role="tool", content=text, extra_args={EXTERNAL_ID: call_id})
