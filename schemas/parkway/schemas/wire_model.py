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


def written_members(model: BaseModel, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Members that were given or have changed since, under their JSON names; nested models as they are."""
    members = members_of(type(model))
    given = model.__pydantic_fields_set__
    written = {
        members[name].name: value
        for name, value in model.__dict__.items()
        if name not in without and (name in given or value != members[name].default)
    }
    return written | (model.__pydantic_extra__ or {})
