"""Chat messages and tool calls, in the JSON of Flink Agents.

Its newest snapshots write two things differently: a message's text as `blocks` of text, and a tool call with `name`
and `arguments` beside `id`. Both are read, and written back as they came; new events have the form of DESIGN 4.1.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, model_validator

from parkway.schemas.wire_model import ListOf, WireModel, written_members

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

    @model_validator(mode="wrap")
    @classmethod
    def _read_flat(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(values, dict) or "function" in values or "name" not in values:
            return handler(values)
        call = {name: value for name, value in values.items() if name not in _FUNCTION_MEMBERS}
        call["function"] = {name: value for name, value in values.items() if name in _FUNCTION_MEMBERS}
        read = handler(call)
        read.__pydantic_fields_set__.discard("function")  # it was not given: `written` knows by that
        return read

    def written(self) -> dict[str, Any]:
        members = written_members(self)
        if "function" not in self.__pydantic_fields_set__:
            members |= written_members(members.pop("function"))
        return members


_FUNCTION_MEMBERS = ("name", "arguments")


class TextBlock(WireModel):
    """A part of a message. Other types than text are refused."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["text"] = "text"
    text: str = ""


_TEXT_MEMBERS = 4  # of a message without blocks


class ChatMessage(WireModel):
    """What a model is told or answers. Raises pydantic's ValidationError for a member it does not know.

    `content` is the text, also of a message that came with `blocks`: theirs joined.
    """

    model_config = ConfigDict(extra="forbid")
    OMITTED: ClassVar[frozenset[str]] = frozenset({"blocks"})

    role: Literal["system", "user", "assistant", "tool"] = "user"
    content: str = ""
    blocks: list[TextBlock] | None = Field(default=None, fail_fast=True)
    tool_calls: ListOf[ToolCall] = Field(default_factory=list)
    extra_args: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _join_blocks(cls, values: Any) -> Any:
        if not isinstance(values, dict) or values.get("blocks") is None:
            return values
        if "content" in values:
            raise ValueError("content and blocks are two forms of one text; give one of them")
        blocks = values["blocks"] if isinstance(values["blocks"], list) else []  # their field says what is wrong
        texts = [block.get("text", "") for block in blocks if isinstance(block, dict)]
        return {**values, "content": "".join(text for text in texts if isinstance(text, str))}

    def written(self) -> dict[str, Any]:
        given = self.__pydantic_fields_set__
        if len(given) == _TEXT_MEMBERS and "blocks" not in given:  # the usual message, written many times per event
            return {
                "role": self.role,
                "content": self.content,
                "tool_calls": self.tool_calls,
                "extra_args": self.extra_args,
            }
        members = written_members(self)
        if self.blocks is not None:
            came = "".join(block.text for block in self.blocks)
            members.pop("content" if self.content == came else "blocks", None)
        return members

    def __json_form__(self) -> dict[str, Any]:
        members = super().__json_form__()
        members.pop("blocks", None)
        return members

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
