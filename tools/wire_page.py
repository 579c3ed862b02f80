"""The page docs/wire.md, out of the code, the golden files and tools/wire_page.md: `python tools/wire_page.py`.

The template holds the prose; `{{ name }}` in it stands for a part that is made here. `--check` only says whether the
page is older than the code.
"""

import argparse
import inspect
import json
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from parkway.schemas import event_types, formats, headers
from parkway.schemas.avro import records
from parkway.schemas.chat_events import ErrorInfo
from parkway.schemas.errors import DlqReason, ErrorType
from parkway.schemas.event import TYPED_EVENTS
from parkway.schemas.events import ChatMessage, Document, FunctionCall, ToolCall, TypedEvent
from parkway.schemas.journal import JournalRecord
from parkway.schemas.limits import Limits
from parkway.schemas.parked import Origin, ParkedCancellation, ParkedRecord, ParkedStep
from parkway.schemas.replayed import ReplayMarker
from parkway.schemas.state import StateRecord
from parkway.schemas.topics import Topics
from parkway.schemas.wire_model import members_of

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "wire.md"
GOLDEN: Final = ROOT / "tests" / "golden"
TEMPLATE: Final = Path(__file__).with_suffix(".md")

_ENVELOPE: Final = frozenset({"id", "attachments", "upstream_event_id", "upstream_action_name"})
# Types whose schema is looser than what is written, or not to be read off it.
_NOTES: Final = {
    ("_tool_response_event", "success"): "map of call id: true or false",
    ("_tool_response_event", "error"): "map of call id: text",
    ("_tool_response_event", "external_ids"): "map of call id: text or null",
    ("_tool_response_event", "responses"): "map of call id: any JSON",
    ("_chat_request_event", "output_schema"): "JSON schema or null",
}


def events() -> str:
    return "\n\n".join(_event(event_types.EventType.names()[name]) for name in event_types.EventType.names())


def objects() -> str:
    return "\n\n".join(_object(model) for model in (ChatMessage, ToolCall, FunctionCall, Document, ErrorInfo))


def record_tables() -> str:
    models = (ParkedRecord, Origin, ParkedCancellation, ParkedStep, StateRecord, JournalRecord, ReplayMarker)
    return "\n\n".join(_object(model) for model in models)


def topic_table() -> str:
    rows = []
    for name, member in vars(Topics).items():
        if isinstance(member, property) and member.__doc__:
            rows.append((f"`<ns>.{name}`", _first_line(member)))
        elif inspect.isfunction(member) and member.__doc__ and not name.startswith("_"):
            rows.append((f"`<ns>.{name}.<action>`", _first_line(member)))
    return _table(("topic", "holds"), rows)


def header_table() -> str:
    rows = []
    for name, meaning in _commented(headers).items():
        value = getattr(headers, name)
        if not isinstance(value, str):
            continue
        origin = "kept" if value in headers.KEPT_FROM_OUTSIDE else "made new"
        origin = "read" if value == headers.CONTENT_TYPE else origin
        hops = "yes" if value in headers.COPIED_ON_EVERY_HOP else ""
        rows.append((f"`{value}`", meaning, origin, hops))
    return _table(("header", "meaning", "from outside", "copied on every hop"), rows)


def error_table() -> str:
    return _words(ErrorType)


def reason_table() -> str:
    return _words(DlqReason)


def limit_table() -> str:
    rows = [(f"`{field.name}`", f"{field.default:,}") for field in fields(Limits)]
    return _table(("setting of the plan", "default"), rows)


def content_types() -> str:
    avro = ", ".join(f"`{name.decode()}`" for name in sorted(formats.AVRO_TYPES))
    rows = [
        (f"`{headers.JSON_CONTENT.decode()}`", "our envelope in JSON"),
        ("`application/json`, or none", "our envelope; a CloudEvent when the object has `specversion`"),
        (f"`{headers.CLOUDEVENTS_CONTENT.decode()}`", "a structured CloudEvent"),
        ("any JSON, with a header `ce_specversion`", "a binary CloudEvent: the value is its data"),
        (avro, "Avro"),
        ("none, and the value begins with `C3 01` or `00`", "Avro"),
    ]
    return _table(("`content-type`", "the value is"), rows)


def avro_records() -> str:
    rows = [
        (f"`{name}`", f"`{record.event_type}`" if record.event_type else "", f"`{record.fingerprint.hex(' ')}`")
        for name, record in sorted(records.current().items())
    ]
    return _table(("record, and subject in a registry", "for", "fingerprint (as the bytes stand)"), rows)


def envelope_example() -> str:
    return _example("own_event")


PARTS: Final[dict[str, Callable[[], str]]] = {
    part.__name__: part
    for part in (
        events,
        objects,
        record_tables,
        topic_table,
        header_table,
        error_table,
        reason_table,
        limit_table,
        content_types,
        avro_records,
        envelope_example,
    )
}


def page() -> str:
    """The whole page. Raises KeyError for a part that the template names and nothing makes."""
    template = TEMPLATE.read_text("utf-8")
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: PARTS[match[1]](), template)


def _event(event_type: str) -> str:
    model = TYPED_EVENTS[event_type]
    assert issubclass(model, TypedEvent)
    stem = event_type.removeprefix("_").removesuffix("_event")
    parts = [f"### `{event_type}`", inspect.getdoc(model) or "", _fields(model, event_type), _example(stem)]
    if (GOLDEN / f"{stem}.failed.json").exists():
        parts += ["Failed:", _example(f"{stem}.failed")]
    return "\n\n".join(parts)


def _object(model: type[BaseModel]) -> str:
    return "\n\n".join([f"### {model.__name__}", inspect.getdoc(model) or "", _fields(model, "")])


def _fields(model: type[BaseModel], event_type: str) -> str:
    schema = model.model_json_schema(by_alias=True)
    rows = []
    for field, member in members_of(model).items():
        if field in _ENVELOPE and event_type:
            continue
        kind = _NOTES.get((event_type, member.name)) or _kind(schema["properties"][member.name])
        rows.append((f"`{member.name}`", kind, "refused" if member.required else _absent(member.default)))
    return _table(("member", "JSON", "when absent"), rows)


def _absent(default: Any) -> str:
    return f"`{json.dumps(list(default) if isinstance(default, tuple) else default)}`"


def _kind(schema: dict[str, Any]) -> str:
    """What a JSON schema allows, in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if kind == "object":
        values = schema.get("additionalProperties", True)
        return f"map of {_kind(values)}" if isinstance(values, dict) else "map"
    names = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "null": "null",
    }
    return names.get(str(kind), "any JSON")


def _example(stem: str) -> str:
    return f"```json\n{(GOLDEN / f'{stem}.json').read_text('utf-8').rstrip()}\n```"


def _words(enum: type[ErrorType | DlqReason]) -> str:
    meanings = _commented_lines(inspect.getsource(enum))
    return _table(("word", "meaning"), [(f"`{word.value}`", meanings[word.name]) for word in enum])


def _commented(module: Any) -> dict[str, str]:
    return _commented_lines(inspect.getsource(module))


def _commented_lines(source: str) -> dict[str, str]:
    """Constant -> the comment behind it."""
    return dict(re.findall(r'^\s*([A-Z_]+)(?:: Final)? = "[^"]*"  # (.+)$', source, re.MULTILINE))


def _first_line(member: Any) -> str:
    return (inspect.getdoc(member) or "").splitlines()[0]


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when the page is older")
    if parser.parse_args().check:
        return int(PAGE.read_text("utf-8") != page())
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
