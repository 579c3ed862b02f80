"""What all parts of the form share: strict members, names, and references to Python."""

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Tag,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from parkway.agents.agent import Agent
from parkway.agents.declarative.environment import check_references
from parkway.agents.errors import did_you_mean

UNKNOWN_MEMBER = "unknown_member"
"""The type of the error for a member that a part does not have; its context's `member` names it."""


class Spec(BaseModel):
    """A part of the form. Every member is checked as it is (no text is taken for a number), and unknown ones refused.

    `ELSEWHERE` says what to write for members that others call so.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)

    ELSEWHERE: ClassVar[dict[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _known_members(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        names = {field.alias or name for name, field in cls.model_fields.items()}
        for member in data:
            if member in names:
                continue
            hint = f": {cls.ELSEWHERE[member]}" if member in cls.ELSEWHERE else did_you_mean(str(member), names)
            raise PydanticCustomError(
                UNKNOWN_MEMBER,
                "unknown member {member}{hint}",
                {"member": member, "hint": hint or f"; known: {', '.join(sorted(names))}"},
            )
        return data

    def given(self, *but: str) -> dict[str, Any]:
        """The members that the file sets, by name: what is not there, or null, has the default of the resource."""
        return {
            name: value
            for name in type(self).model_fields
            if name in self.model_fields_set
            and name not in ("name", *but)
            and (value := getattr(self, name)) is not None
        }


def _attribute(name: str) -> str:
    if not name.isidentifier() or name.startswith("_"):
        raise ValueError(f"name {name!r}: letters, digits and '_', as an attribute of a class")
    if hasattr(Agent, name):
        raise ValueError(f"name {name!r}: every agent has something of that name; choose another one")
    return name


def _reference(text: str) -> str:
    module, colon, name = text.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise ValueError(f"{text!r}: write module:name, such as support.tools:lookup")
    return text


def checked_text(text: str) -> str:
    """Text in which `${NAME}` stands for an environment variable."""
    return check_references(text)


Name = Annotated[
    str, AfterValidator(_attribute), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]*$"})
]
Reference = Annotated[
    str,
    AfterValidator(_reference),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^[A-Za-z0-9_.]+:[A-Za-z0-9_.]+$",
            "description": "module:name, or module:Class.method",
        }
    ),
]
Text = Annotated[str, AfterValidator(checked_text)]


def _kind(value: Any) -> str:
    return "map" if isinstance(value, dict | BaseModel) else "text"


T = TypeVar("T")
TextOr = Annotated[Annotated[str, Tag("text")] | Annotated[T, Tag("map")], Discriminator(_kind)]
"""A text, or a map; which one decides what is wrong with it."""


class FunctionSpec(Spec):
    """A function of one's own where else a name stands: `{function: support.model:chat_model}`."""

    function: Reference


def _condition_kind(value: Any) -> str:
    return "yes_or_no" if isinstance(value, bool) else _kind(value)


Condition = Annotated[
    Annotated[bool, Tag("yes_or_no")] | Annotated[str, Tag("text")] | Annotated[FunctionSpec, Tag("map")],
    Discriminator(_condition_kind),
]
"""Whether a person must allow a call: yes or no, a text that says why, or a function of the arguments."""
