"""What the lines of a trace say. Without `content` nothing that people or models wrote stands there."""

from collections.abc import Mapping
from typing import Any, Final

from parkway.cli.shown import json_text
from parkway.cli.sightings import Sighting
from parkway.schemas import headers
from parkway.schemas.event_types import EventType
from parkway.schemas.journal import JournalRecord

_WIDTH: Final = 100


def words(one: Sighting, *, content: bool) -> str:
    """An event: its type, the names in it, how it ended."""
    given = one.attributes
    parts = ["output" if one.type == EventType.OutputEvent else one.type or one.topic]
    if isinstance(given.get("model"), str) and one.type != EventType.ToolRequestEvent:
        parts.append(given["model"])
    if one.type == EventType.ToolRequestEvent:
        parts.append(_calls(given.get("tool_calls"), content=content))
    if isinstance(given.get("vector_store"), str):
        parts.append(given["vector_store"])
    if one.type == EventType.ToolResponseEvent:
        parts.append(_outcomes(given))
    elif given.get("success") is False:
        parts.append(f"failed: {_error(given.get('error'), content=content)}")
    elif isinstance(given.get("approved"), bool):
        parts.append("approved" if given["approved"] else "denied")
    if content:
        parts.append(_content(one))
    return " ".join(filter(None, parts))


def journal_words(entry: JournalRecord, *, content: bool) -> str:
    """A call: what was called, in which round, how it ended."""
    kind = entry.kind.removesuffix("_call")
    parts = [kind, entry.name]
    if entry.model is not None and entry.model != entry.name:
        parts.append(f"({entry.model})")
    if entry.kind == "model_call":
        parts.append(f"round {entry.round}")
    if entry.attempt > 1:
        parts.append(f"attempt {entry.attempt}")
    if entry.outcome != "success":
        parts.append(entry.outcome + (f": {entry.error_type}" if entry.error_type else ""))
    if content and entry.content is not None:
        parts.append(short(entry.content))
    return " ".join(parts)


def dead_words(one: Sighting) -> str:
    """A dead letter: its reason, as its headers tell it (what of it is content, the worker's settings say)."""
    return f"DLQ {one.text(headers.ERROR_TYPE)}: {_cut(one.text(headers.ERROR_MESSAGE))}"


def short(value: Any) -> str:
    return _cut(value if isinstance(value, str) else json_text(value))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _calls(calls: Any, *, content: bool) -> str:
    if not isinstance(calls, list):
        return ""
    functions = [_map(_map(call).get("function")) for call in calls]
    return ", ".join(f"{one.get('name')}({_arguments(one.get('arguments'), content=content)})" for one in functions)


def _arguments(given: Any, *, content: bool) -> str:
    if content:
        return short(given)
    return "…" if given else ""


def _outcomes(given: dict[str, Any] | Any) -> str:
    success = given.get("success")
    responses = given.get("responses")
    if not isinstance(responses, dict):
        return ""
    failed = [call for call in responses if isinstance(success, dict) and success.get(call) is False]
    return f"{len(failed)} of {len(responses)} failed" if failed else ""


def _error(error: Any, *, content: bool) -> str:
    if not isinstance(error, dict):
        return "?"
    return f"{error.get('type')}: {_cut(str(error.get('message')))}" if content else str(error.get("type"))


def _map(value: Any) -> Mapping[str, Any]:
    """`value`, or nothing where an event from outside has something else."""
    return value if isinstance(value, Mapping) else {}


def _content(one: Sighting) -> str:
    given = one.attributes
    if one.type == EventType.OutputEvent:
        return short(given.get("output"))
    messages = given.get("messages")
    if one.type == EventType.ChatRequestEvent and isinstance(messages, list) and messages:
        return short(_map(messages[-1]).get("content", ""))
    if one.type == EventType.ChatResponseEvent and isinstance(given.get("response"), dict):
        return short(given["response"].get("content", ""))
    if one.type == EventType.ToolResponseEvent:
        return short(given.get("responses"))
    if one.type.startswith("_"):
        return ""
    return short(given)
