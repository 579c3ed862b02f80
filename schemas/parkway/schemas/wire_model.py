"""Objects inside events (messages, tool calls, documents, errors): how they are written."""

from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from pydantic import BaseModel, FailFast

T = TypeVar("T")

# A list whose check ends at the first bad item: pydantic would describe every one of a hostile megabyte.
ListOf = Annotated[list[T], FailFast()]


class WireModel(BaseModel):
    """A JSON object that writes back what was read: a member that was absent and is unchanged stays absent.

    Put into a new event it writes all its members, as Flink Agents does, except those named in `OMITTED`
    while they are None.
    """

    OMITTED: ClassVar[frozenset[str]] = frozenset()

    def __json_form__(self) -> dict[str, Any]:
        members = {
            name: value for name, value in self.__dict__.items() if value is not None or name not in self.OMITTED
        }
        return members | (self.__pydantic_extra__ or {})

    def written(self) -> dict[str, Any]:
        """Members to write back, under their JSON names; nested models as they are."""
        return written_members(self)


class Member(NamedTuple):
    """A field as JSON knows it; `default` is shared, so compare or copy it."""

    name: str
    default: Any
    required: bool


@cache
def members_of(model: type[BaseModel]) -> dict[str, Member]:
    """Field name -> member. Cached: pydantic inspects a default's factory at every `get_default`."""
    return {
        name: Member(field.alias or name, field.get_default(call_default_factory=True), field.is_required())
        for name, field in model.__pydantic_fields__.items()
    }


class _Written(NamedTuple):
    """What `written_members` needs of a model, by field name; `renamed` holds the fields with another JSON name."""

    defaults: dict[str, Any]
    renamed: dict[str, str]


@cache
def _written(model: type[BaseModel]) -> _Written:
    members = members_of(model)
    return _Written(
        {name: member.default for name, member in members.items()},
        {name: member.name for name, member in members.items() if member.name != name},
    )


def written_members(model: BaseModel, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Members that were given or have changed since, under their JSON names; nested models as they are."""
    defaults, renamed = _written(type(model))
    given = model.__pydantic_fields_set__
    written = {
        name: value
        for name, value in model.__dict__.items()
        if (name in given or value != defaults[name]) and name not in without
    }
    for name, json_name in renamed.items():
        if name in written:
            written[json_name] = written.pop(name)
    extra = model.__pydantic_extra__
    return written | extra if extra else written
