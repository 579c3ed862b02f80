"""The files under tests/golden, which any language can test against: read and re-written equal."""

import json
from pathlib import Path

import pytest

from parkway.schemas.avro import AvroCodec
from parkway.schemas.event_types import BUILT_IN_TYPES, REQUEST_TYPES
from parkway.schemas.events import (
    ChatFailedError,
    ChatRequestEvent,
    ChatResponseEvent,
    DecisionResponseEvent,
    Event,
    ToolRequestEvent,
    ToolResponseEvent,
    TypedEvent,
)

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = sorted(GOLDEN.glob("*.json"))
golden = pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])


def strict(value: object) -> str:
    """JSON that tells 1 from 1.0 and true, whatever the order of members."""
    return json.dumps(value, sort_keys=True)


def read(name: str) -> Event:
    return Event.parse((GOLDEN / f"{name}.json").read_bytes())


@golden
def test_read_and_written_equal(file):
    expected = json.loads(file.read_text("utf-8"))
    event = Event.parse(file.read_bytes())
    assert isinstance(event, TypedEvent) == (expected["type"] in BUILT_IN_TYPES)
    assert strict(json.loads(event.to_json())) == strict(expected)
    assert strict(json.loads(Event.from_json(file.read_bytes()).to_json())) == strict(expected)


@golden
def test_avro_gives_the_same_json(file):
    codec = AvroCodec()
    back = codec.decode_event(codec.encode_event(file.read_bytes()))
    assert strict(json.loads(back)) == strict(json.loads(file.read_text("utf-8")))


def test_every_type_has_its_file_and_every_request_and_response_one_with_user_context():
    bodies = {file.stem: json.loads(file.read_text("utf-8")) for file in FILES}
    assert {body["type"] for body in bodies.values()} >= BUILT_IN_TYPES
    with_context = {body["type"] for body in bodies.values() if "user_context" in body["attributes"]}
    assert with_context == REQUEST_TYPES | {name.replace("request", "response") for name in REQUEST_TYPES}
    for stem, body in bodies.items():
        if stem.endswith(".user_context"):
            plain = bodies[stem.removesuffix(".user_context")]
            assert {k: v for k, v in body["attributes"].items() if k != "user_context"} == plain["attributes"]


@pytest.mark.parametrize("suffix", ["", ".user_context"])
def test_failed_ones_read_as_failed(suffix):
    chat = read(f"chat_response.failed{suffix}")
    assert isinstance(chat, ChatResponseEvent)
    with pytest.raises(ChatFailedError, match="rate_limited: 429"):
        _ = chat.response
    decision = read(f"decision_response.failed{suffix}")
    assert isinstance(decision, DecisionResponseEvent)
    assert not decision.success
    assert decision.error is not None
    assert decision.error.type == "refused"
    tool = read(f"tool_response.failed{suffix}")
    assert isinstance(tool, ToolResponseEvent)
    (result,) = tool.results().values()
    assert not result.success
    assert result.error == "Tool `lookup` execute failed."


def test_forms_of_other_producers_mean_the_same():
    blocks, plain = read("chat_request.blocks"), read("chat_request")
    assert isinstance(blocks, ChatRequestEvent)
    assert isinstance(plain, ChatRequestEvent)
    assert blocks.messages[0].content == plain.messages[1].content
    flat, nested = read("tool_request.flat"), read("tool_request")
    assert isinstance(flat, ToolRequestEvent)
    assert isinstance(nested, ToolRequestEvent)
    assert flat.tool_calls[0].function == nested.tool_calls[0].function
    old = read("chat_response.old")
    assert isinstance(old, ChatResponseEvent)
    assert old.response.content == "hi"
