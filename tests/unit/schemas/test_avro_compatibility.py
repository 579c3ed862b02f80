"""An .avsc may change only so that the previous version and this one read each other's bytes.

`tests/unit/data/avro-previous/` holds the schemas of the last release. To change one in `schemas/.../avro/records/`:

1. Add fields with a default, at the end; remove none, rename none, narrow no type. This test says what is wrong.
2. Copy the released file to `schemas/.../avro/earlier/<name>-<n>.avsc`. Without it, single-object records that are
   still in topics name a fingerprint that nobody knows; this test fails until it is there.
3. After the release, copy `records/` over `avro-previous/`. Never before: then this test compares a schema with itself.
"""

import copy
import json
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest

from parkway.schemas.avro import AvroCodec, records
from parkway.schemas.avro.records import Record

PREVIOUS = {
    record.name: record
    for record in (
        Record(json.loads(file.read_text("utf-8")))
        for file in (Path(__file__).parents[1] / "data" / "avro-previous").glob("*.avsc")
    )
}
GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*.json"))

# What Avro's specification lets a reader make of a writer's primitive type.
PROMOTED = {
    ("int", "long"),
    ("int", "float"),
    ("int", "double"),
    ("long", "float"),
    ("long", "double"),
    ("float", "double"),
    ("string", "bytes"),
    ("bytes", "string"),
}


def problems(writer: Any, reader: Any) -> Iterator[str]:
    """Why data of `writer` cannot always be read with `reader`: the schema resolution of Avro's specification."""
    yield from _problems(writer, reader, "", _named(writer), _named(reader))


def _problems(writer: Any, reader: Any, path: str, w: dict[str, Any], r: dict[str, Any]) -> Iterator[str]:
    writer, reader = w.get(_key(writer), writer), r.get(_key(reader), reader)
    if isinstance(writer, list):
        for branch in writer:
            yield from _problems(branch, reader, path, w, r)
        return
    if isinstance(reader, list):
        if not any(not list(_problems(writer, branch, path, w, r)) for branch in reader):
            yield f"{path}: a {_kind(writer)} fits no branch of the union"
        return
    if _kind(writer) != _kind(reader):
        if (_kind(writer), _kind(reader)) not in PROMOTED:
            yield f"{path}: written as {_kind(writer)}, read as {_kind(reader)}"
    elif _kind(reader) == "record":
        if writer["name"] != reader["name"]:
            yield f"{path}: record {writer['name']} became {reader['name']}"
        there = {field["name"]: field for field in writer["fields"]}
        for field in reader["fields"]:
            place = f"{path}.{field['name']}"
            if field["name"] in there:
                yield from _problems(there[field["name"]]["type"], field["type"], place, w, r)
            elif "default" not in field:
                yield f"{place}: not written, and without a default"
    elif _kind(reader) in {"array", "map"}:
        member = "items" if _kind(reader) == "array" else "values"
        yield from _problems(writer[member], reader[member], f"{path}[]", w, r)


def _kind(schema: Any) -> str:
    return schema if isinstance(schema, str) else str(schema["type"])


def _key(schema: Any) -> str:
    return schema if isinstance(schema, str) else ""


def _named(schema: Any) -> dict[str, Any]:
    if isinstance(schema, list):
        return {name: found for branch in schema for name, found in _named(branch).items()}
    if not isinstance(schema, dict):
        return {}
    if schema["type"] == "record":
        inside = {name: found for field in schema["fields"] for name, found in _named(field["type"]).items()}
        return {schema["name"]: schema, **inside}
    return _named(schema.get("items") or schema.get("values"))


@pytest.mark.parametrize("name", sorted(PREVIOUS))
def test_previous_version_and_this_one_read_each_other(name):
    assert name in records.current(), f"{name} was released: its records are in topics, so its schema must stay"
    before, now = PREVIOUS[name].schema, records.current()[name].schema
    assert list(problems(before, now)) == [], "this version cannot read what the previous one wrote"
    assert list(problems(now, before)) == [], "the previous version cannot read what this one writes"


@pytest.mark.parametrize("name", sorted(PREVIOUS))
def test_fingerprint_of_the_previous_version_is_still_known(name):
    assert PREVIOUS[name].fingerprint in records.by_fingerprint(), f"put the released {name} into avro/earlier/"


@pytest.mark.parametrize("file", GOLDEN, ids=[file.stem for file in GOLDEN])
def test_bytes_cross_between_the_versions(file):
    data = AvroCodec().encode_event(file.read_bytes())
    name = records.by_fingerprint()[data[2:10]].name
    now, before = records.current()[name].parsed, PREVIOUS[name].parsed
    old = fastavro.schemaless_reader(BytesIO(data[10:]), now, before)
    stream = BytesIO()
    fastavro.schemaless_writer(stream, before, old)
    assert fastavro.schemaless_reader(BytesIO(stream.getvalue()), before, now) is not None


# The rule itself: each change, and whether it must fail.

Change = Callable[[dict[str, Any]], object]


def attributes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = next(f for f in schema["fields"] if f["name"] == "attributes")["type"]["fields"]
    return fields


BREAKING: dict[str, Change] = {
    "field without a default": lambda s: attributes(s).append({"name": "new", "type": "string"}),
    "required field removed": lambda s: attributes(s).pop(0),
    "field renamed": lambda s: attributes(s)[0].update(name="model_name"),
    "type changed": lambda s: attributes(s)[0].update(type="long"),
    "string made optional": lambda s: attributes(s)[0].update(type=["null", "string"]),
    "record renamed": lambda s: next(f for f in s["fields"] if f["name"] == "attributes")["type"].update(name="Other"),
    "inside a list": lambda s: attributes(s)[1]["type"]["items"]["fields"].append({"name": "new", "type": "int"}),
}
HARMLESS: dict[str, Change] = {
    "field with a default": lambda s: attributes(s).append({"name": "n", "type": ["null", "string"], "default": None}),
    "documentation": lambda s: attributes(s)[0].update(doc="new words"),
}


def changed(change: Change) -> tuple[dict[str, Any], dict[str, Any]]:
    before = records.current()["parkway.ChatRequestEvent"].schema
    now = copy.deepcopy(before)
    change(now)
    return before, now


@pytest.mark.parametrize("change", BREAKING)
def test_breaking_change_is_found(change):
    before, now = changed(BREAKING[change])
    assert [*problems(before, now), *problems(now, before)]


@pytest.mark.parametrize("change", HARMLESS)
def test_harmless_change_is_let_through(change):
    before, now = changed(HARMLESS[change])
    assert [*problems(before, now), *problems(now, before)] == []


def test_earlier_schema_of_a_single_object_is_read(monkeypatch):
    """What step 2 is for: bytes of a released schema, read by a version that has a field more."""
    released = records.current()["parkway.InputEvent"]
    data = AvroCodec().encode_event(b'{"id":"1","type":"_input_event","attributes":{"input":{"a":1}}}')
    schema = copy.deepcopy(released.schema)
    attributes(schema).insert(0, {"name": "later", "type": ["null", "string"], "default": None})
    newer = Record(schema)
    monkeypatch.setattr(records, "current", lambda: {newer.name: newer})
    monkeypatch.setattr(records, "by_fingerprint", lambda: {each.fingerprint: each for each in (released, newer)})
    assert json.loads(AvroCodec().decode_event(data)) == {
        "id": "1",
        "type": "_input_event",
        "attributes": {"input": {"a": 1}},
    }
