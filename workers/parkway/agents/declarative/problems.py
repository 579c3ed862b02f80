"""What pydantic found wrong with a file, in lines that a person can go to."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from parkway.agents.declarative.document import Document, Place
from parkway.agents.declarative.spec_base import UNKNOWN_MEMBER
from parkway.agents.errors import did_you_mean
from parkway.schemas.json_form import short

_SHOWN = 10


def problems(document: Document, error: ValidationError) -> str:
    """One line each, `agent.yaml:12: agents[support].actions[triage].order: ...`, in the order of the file."""
    errors = error.errors(include_url=False)
    lines = [_line(document, each) for each in errors[:_SHOWN]]
    if len(errors) > _SHOWN:
        lines.append(f"and {len(errors) - _SHOWN} more")
    return "\n".join(lines)


def _line(document: Document, error: ErrorDetails) -> str:
    place = place_of(document, error["loc"])
    context = error.get("ctx", {})
    if error["type"] == UNKNOWN_MEMBER:
        at = document.at((*place, str(context["member"])))
        return f"{at}: {_path(document, place)}unknown member {context['member']!r}{context['hint']}"
    return f"{document.at(place)}: {_path(document, place)}{_reason(error)}"


def _reason(error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return f"member {str(error['loc'][-1])!r} is missing"
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    if error["type"] == "union_tag_invalid":  # of vector stores, the only ones whose members hang on `clazz`
        tag = str(error["ctx"]["tag"])
        known = [name for name in error["ctx"]["expected_tags"].replace("'", "").split(", ") if name != "own"]
        hint = did_you_mean(tag, known) or f"; there are: {', '.join(known)}"
        return f"clazz {tag!r}: no vector store is called so{hint}; one of your own is module:Class"
    if error["type"] == "string_type" and isinstance(error["input"], bool | int | float):
        return f"a text is needed, got {short(error['input'])}: put it in quotes"
    if error["type"] == "model_type":
        return f"a map is needed, got {short(error['input'])}"
    text = error["msg"].removeprefix("Input should be ")
    if text != error["msg"]:
        return f"{text} is needed, got {short(error['input'])}"
    return text


def place_of(document: Document, location: Sequence[str | int]) -> Place:
    """The steps of `location` that are in the file: pydantic's also name the alternatives it tried."""
    place: Place = ()
    for step in location:
        if (*place, step) in document.lines:
            place = (*place, step)
    return place


def _path(document: Document, place: Place) -> str:
    """`agents[support].actions[triage].order: `; items of lists by their name, where they have one."""
    text = ""
    for number, step in enumerate(place):
        if isinstance(step, int):
            item: Any = document.value(place[: number + 1])
            name = item.get("name") if isinstance(item, dict) else None
            text += f"[{name if isinstance(name, str) else step}]"
        else:
            text += f".{step}" if text else step
    return f"{text}: " if text else ""
