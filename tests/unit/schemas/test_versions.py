"""Parked record, journal record and plan: their schemas, and how the version before is read."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from parkway.schemas.journal import JournalError, JournalRecord
from parkway.schemas.json_schemas import json_schemas, write_to
from parkway.schemas.parked import ParkedCancellation, ParkedError, ParkedRecord, ParkedStep
from parkway.schemas.plan import Plan, PlanError
from parkway.schemas.replayed import ReplayMarker, ReplayMarkerError
from parkway.schemas.state import StateError, StateRecord
from parkway.schemas.versions import RecordError, read_versioned

RECORDS = Path(__file__).parents[2] / "golden" / "records"
MODELS = {
    "parked": ParkedRecord,
    "parked_cancellation": ParkedCancellation,
    "parked_step": ParkedStep,
    "state": StateRecord,
    "journal": JournalRecord,
    "plan": Plan,
    "replay_marker": ReplayMarker,
}
ERRORS = {
    "parked": ParkedError,
    "parked_cancellation": ParkedError,
    "parked_step": ParkedError,
    "state": StateError,
    "journal": JournalError,
    "plan": PlanError,
    "replay_marker": ReplayMarkerError,
}

kinds = pytest.mark.parametrize("kind", MODELS)


def example(kind: str) -> bytes:
    return (RECORDS / f"{kind}.v1.json").read_bytes()


def test_schemas_are_the_committed_ones(tmp_path):
    """A change that old readers cannot read needs a new `v`; any other is written again with
    `python -m parkway.schemas.json_schemas tests/golden/records`.
    """
    write_to(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}.schema.json" for name in json_schemas()}
    for file in tmp_path.iterdir():
        assert file.read_text("utf-8") == (RECORDS / file.name).read_text("utf-8"), (
            f"{file.name} is older than the code"
        )


@kinds
def test_schema_names_every_member_that_is_written(kind):
    schema = json_schemas()[f"{kind}.v1"]
    assert schema["$id"] == f"urn:parkway:{kind}.v1"
    body = json.loads(example(kind))
    assert schema["properties"].keys() == body.keys()
    assert set(schema["required"]) <= body.keys()
    assert schema["properties"]["v"]["const"] == 1


@kinds
def test_record_of_version_1_is_read_and_written_equal(kind):
    record = MODELS[kind].from_json(example(kind))
    assert json.loads(record.to_json()) == json.loads(example(kind))


@kinds
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": 2}, "v: this version reads 1, got 2"),
        ({"v": 0}, "v: this version reads 1, got 0"),
        ({"v": "1"}, "v: "),
        ({"build": 7, "replayed": []}, "build: Input should be a valid string|replayed: Tuple should have at least 1"),
    ],
)
def test_record_that_cannot_be_read_is_named(kind, change, message):
    with pytest.raises(ERRORS[kind], match=f"{kind}.*{message}|{message}"):
        MODELS[kind].from_json(json.dumps(json.loads(example(kind)) | change).encode())


@kinds
@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"{}", b"[" * 5000])
def test_bytes_that_are_no_record_raise_its_error(kind, data):
    with pytest.raises(ERRORS[kind]):
        MODELS[kind].from_json(data)


class ParkedV2(ParkedRecord):
    """How a next version would look: `deadline` renamed, a field more."""

    v: Literal[2] = 2  # type: ignore[assignment]
    deadline: int = 0
    ends_at: int
    lane: str = Field(default="action")


def from_v1(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "ends_at": body["deadline"]}


def test_version_before_is_read_by_its_upgrade():
    record = read_versioned(ParkedV2, example("parked"), from_v1)
    assert (record.v, record.ends_at, record.lane) == (2, 1767323045000, "action")
    written = record.model_dump_json().encode()
    assert read_versioned(ParkedV2, written, from_v1) == record
    with pytest.raises(RecordError, match="v: this version reads 2 and 1, got 3"):
        read_versioned(ParkedV2, written.replace(b'"v":2', b'"v":3'), from_v1)
    with pytest.raises(ParkedError, match="v: this version reads 1, got 2"):  # a reader that was not upgraded
        ParkedRecord.from_json(written)


def test_version_before_that_is_broken_names_the_field():
    broken = json.dumps({**json.loads(example("parked")), "round": "x"}).encode()
    with pytest.raises(RecordError, match="v 1: round: "):
        read_versioned(ParkedV2, broken, from_v1)


def test_unknown_members_are_left_out_of_records_and_refused_in_plans():
    """A later minor change adds members: running workers go on reading; a plan with an unknown word is a typing error."""
    for kind in ("parked", "journal"):
        body = json.loads(example(kind)) | {"later": 1}
        assert MODELS[kind].from_json(json.dumps(body).encode()) == MODELS[kind].from_json(example(kind))
    with pytest.raises(PlanError, match="later"):
        Plan.from_json(json.dumps(json.loads(example("plan")) | {"later": 1}).encode())
