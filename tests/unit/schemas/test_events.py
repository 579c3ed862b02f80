"""The JSON of events: what Flink Agents writes, read and written back unchanged; what is refused, and how."""

import copy
import json
import pickle
import time
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from parkway.schemas import jsonio
from parkway.schemas.event_types import BUILT_IN_TYPES
from parkway.schemas.events import (
    ApprovalRequestEvent,
    ApprovalResponseEvent,
    CancelRequestEvent,
    ChatFailedError,
    ChatMessage,
    ChatRequestEvent,
    ChatResponseEvent,
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    DecisionRequestEvent,
    DecisionResponseEvent,
    Document,
    ErrorInfo,
    Event,
    EventError,
    FunctionCall,
    InputEvent,
    OutputEvent,
    Token,
    ToolCall,
    ToolRequestEvent,
    ToolResponseEvent,
    TypedEvent,
)

EVENT_ID = "00000000-0000-0000-0000-000000000001"
REQUEST_ID = "00000000-0000-0000-0000-000000000002"
TOKEN = "chat.3.00112233445566778899aabbccddeeff"
CALL = {"id": "call_aaaa", "type": "function", "function": {"name": "echo", "arguments": {"value": "ping"}}}

# A new event of every built-in type, and the attributes it writes.
WRITTEN: list[tuple[TypedEvent, dict[str, object]]] = [
    (InputEvent(id=EVENT_ID, input="hello"), {"input": "hello"}),
    (OutputEvent(id=EVENT_ID, output="world"), {"output": "world"}),
    (
        ChatRequestEvent(id=EVENT_ID, model="test-model", messages=[ChatMessage.user("hello world")]),
        {
            "model": "test-model",
            "messages": [{"role": "user", "content": "hello world", "tool_calls": [], "extra_args": {}}],
            "prompt_args": {},
            "output_schema": None,
        },
    ),
    (
        ChatResponseEvent(id=EVENT_ID, request_id=REQUEST_ID, response=ChatMessage.assistant("hi there")),
        {
            "request_id": REQUEST_ID,
            "response": {"role": "assistant", "content": "hi there", "tool_calls": [], "extra_args": {}},
            "success": True,
            "error": None,
            "retry_count": 0,
            "total_retry_wait_sec": 0,
        },
    ),
    (
        ToolRequestEvent(
            id=EVENT_ID,
            model="test-model",
            tool_calls=[ToolCall(id="call_aaaa", function=FunctionCall(name="echo", arguments={"value": "ping"}))],
        ),
        {"model": "test-model", "tool_calls": [CALL]},
    ),
    (
        ToolResponseEvent(
            id=EVENT_ID,
            request_id=REQUEST_ID,
            responses={"call_aaaa": "pong", "call_bbbb": 42, "call_cccc": True},
            external_ids={"call_aaaa": None, "call_bbbb": None, "call_cccc": None},
        ),
        {
            "request_id": REQUEST_ID,
            "responses": {"call_aaaa": "pong", "call_bbbb": 42, "call_cccc": True},
            "success": {"call_aaaa": True, "call_bbbb": True, "call_cccc": True},
            "error": {},
            "external_ids": {"call_aaaa": None, "call_bbbb": None, "call_cccc": None},
        },
    ),
    (
        ContextRetrievalRequestEvent(id=EVENT_ID, query="what is flink", vector_store="store"),
        {"query": "what is flink", "vector_store": "store", "max_results": 3},
    ),
    (
        ContextRetrievalResponseEvent(
            id=EVENT_ID,
            request_id=REQUEST_ID,
            query="what is flink",
            documents=[Document(content="doc content", metadata={"k": "v"}, id="doc-1")],
        ),
        {
            "request_id": REQUEST_ID,
            "query": "what is flink",
            "documents": [
                {
                    "content": "doc content",
                    "metadata": {"k": "v"},
                    "id": "doc-1",
                    "embedding": None,
                    "score": None,
                }
            ],
        },
    ),
    (
        DecisionRequestEvent(id=EVENT_ID, model="judge", state={"text": "x"}, questions={"spam": {"type": "noul"}}),
        {"model": "judge", "state": {"text": "x"}, "questions": {"spam": {"type": "noul"}}},
    ),
    (
        DecisionResponseEvent(
            id=EVENT_ID,
            request_id=REQUEST_ID,
            model="judge",
            answers={"spam": {"type": "noul", "noul": 0.2}},
        ),
        {
            "request_id": REQUEST_ID,
            "model": "judge",
            "success": True,
            "answers": {"spam": {"type": "noul", "noul": 0.2}},
            "error": None,
            "usage": None,
            "retry_count": 0,
            "total_retry_wait_sec": 0,
        },
    ),
    (CancelRequestEvent(id=EVENT_ID, token=TOKEN), {"token": TOKEN}),
    (
        ApprovalRequestEvent(
            id=EVENT_ID,
            request_id=REQUEST_ID,
            token=TOKEN,
            call=ToolCall.model_validate(CALL),
            reason="refunds need a person",
        ),
        {"request_id": REQUEST_ID, "token": TOKEN, "call": CALL, "reason": "refunds need a person"},
    ),
    (
        ApprovalResponseEvent(id=EVENT_ID, request_id=REQUEST_ID, token=TOKEN, approved=False),
        {"request_id": REQUEST_ID, "token": TOKEN, "approved": False},
    ),
]

written = pytest.mark.parametrize(("event", "attributes"), WRITTEN, ids=[e.type for e, _ in WRITTEN])


def test_every_built_in_type_has_a_class_and_is_tested_here():
    assert {event.type for event, _ in WRITTEN} == BUILT_IN_TYPES


@written
def test_new_event_writes_the_json_of_flink_agents(event, attributes):
    expected = {"id": EVENT_ID, "type": event.type, "attributes": attributes}
    assert json.loads(event.to_json()) == expected
    assert event.to_dict() == expected
    assert event.attributes == attributes


@written
def test_parse_gives_the_typed_class_and_an_equal_event(event, attributes):
    for source in (event.to_json(), event.to_json().decode(), event.to_dict()):
        read = Event.parse(source)
        assert type(read) is type(event)
        assert read == event
        assert hash(read) == hash(event)


@written
def test_plain_event_reads_and_writes_the_same_json(event, attributes):
    plain = Event.from_json(event.to_json())
    assert type(plain) is Event
    assert plain == event
    assert plain.attributes == attributes
    assert plain.to_dict() == event.to_dict()


@written
def test_typed_class_reads_its_own_type_only(event, attributes):
    assert type(event).from_json(event.to_json()) == event
    with pytest.raises(EventError, match=rf"type: expected '{event.type}', got 'other'"):
        type(event).from_dict({"type": "other", "attributes": attributes})


@written
def test_unknown_attribute_is_rejected_with_its_name(event, attributes):
    for unknown in ("colour", "id", "attachments", "upstream_event_id", "message"):
        body = {"type": event.type, "attributes": {**attributes, unknown: "x"}}
        with pytest.raises(EventError, match=f"unknown attribute '{unknown}'"):
            Event.parse(body)


@written
def test_copies_and_pickles_are_equal(event, attributes):
    plain = Event.from_json(event.to_json())
    for original in (event, plain):
        assert copy.copy(original) == original
        assert copy.deepcopy(original) == original
        assert pickle.loads(pickle.dumps(original)) == original


@written
def test_printing_works(event, attributes):
    assert type(event).__name__ in repr(event)
    assert str(event)


def test_printing_works_for_values_that_cannot_be_printed():
    class Unprintable:
        def __repr__(self):
            raise RuntimeError("no")

    event = InputEvent(input={})
    event.input["broken"] = Unprintable()
    assert "InputEvent" in repr(event)
    assert "InputEvent" in str(event)
    plain = Event("ticket", {"a": 1})
    plain.attributes["huge"] = 10**10_000
    assert "ticket" in f"{plain}"


# What older or other producers leave out, or write in addition. Each must come back exactly.
READ_BACK = [
    ("_chat_request_event", {"model": "m", "messages": []}),
    ("_chat_request_event", {"model": "m", "messages": [{"role": "user", "content": "x"}]}),
    ("_chat_request_event", {"model": "m", "messages": [{}], "user_context": None}),
    ("_chat_request_event", {"model": "m", "messages": [], "output_schema": {"type": "object"}}),
    ("_chat_response_event", {"request_id": "r", "response": {"role": "assistant", "content": "x"}}),
    ("_chat_response_event", {"request_id": "r", "response": None, "total_retry_wait_sec": 1.5}),
    (
        "_chat_response_event",
        {"request_id": "r", "response": None, "success": False, "error": {"type": "t", "new": 1}},
    ),
    ("_tool_request_event", {"model": "m", "tool_calls": [{"id": "1", "function": {"name": "f"}}]}),
    ("_tool_request_event", {"model": "m", "tool_calls": [{**CALL, "original_id": None, "index": 0}]}),
    # as the newest Flink Agents write a tool call and a text
    ("_tool_request_event", {"model": "m", "tool_calls": [{"id": "1", "name": "f", "arguments": {"a": 1}}]}),
    ("_chat_request_event", {"model": "m", "messages": [{"role": "user", "blocks": [{"type": "text", "text": "x"}]}]}),
    ("_chat_request_event", {"model": "m", "messages": [{"blocks": None}, {"blocks": []}]}),
    ("_tool_response_event", {"request_id": "r", "responses": {"a": {"result": 1, "success": True}}}),
    ("_tool_response_event", {"request_id": "r", "responses": {}, "success": None, "external_ids": None}),
    ("_tool_response_event", {"request_id": "r", "responses": {}, "timestamp": 1_700_000_000_000}),
    ("_context_retrieval_request_event", {"query": "q", "vector_store": "s"}),
    (
        "_context_retrieval_response_event",
        {"request_id": "r", "query": "q", "documents": [{"content": "c", "score": 1.5, "extra": []}]},
    ),
    ("_decision_response_event", {"request_id": "r", "model": "m"}),
]


@pytest.mark.parametrize(("name", "attributes"), READ_BACK)
def test_absent_attributes_stay_absent(name, attributes):
    body = {"id": "1", "type": name, "attributes": attributes}
    assert json.loads(Event.parse(body).to_json()) == body
    assert json.loads(Event.parse(json.dumps(body)).to_json()) == body


def test_absent_member_that_is_filled_in_later_is_written():
    event = Event.parse({"type": "_chat_request_event", "attributes": {"model": "m", "messages": [{}]}})
    assert isinstance(event, ChatRequestEvent)
    event.messages[0].extra_args["promptTokens"] = 3
    event.prompt_args["name"] = "Ann"
    assert event.attributes == {
        "model": "m",
        "messages": [{"extra_args": {"promptTokens": 3}}],
        "prompt_args": {"name": "Ann"},
    }


def test_two_events_share_no_default():
    first, second = (ToolResponseEvent(request_id="r", responses={}) for _ in range(2))
    first.error["a"] = "b"
    first.external_ids["a"] = "b"
    assert second.error == {}
    assert second.external_ids == {}
    assert ToolResponseEvent(request_id="r", responses={}).error == {}


def test_response_without_success_and_error_reads_as_success():
    chat = Event.parse(
        {"type": "_chat_response_event", "attributes": {"request_id": "r", "response": {"content": "x"}}}
    )
    assert isinstance(chat, ChatResponseEvent)
    assert chat.success
    assert chat.error is None
    assert chat.response.content == "x"
    decision = Event.parse({"type": "_decision_response_event", "attributes": {"request_id": "r", "model": "m"}})
    assert isinstance(decision, DecisionResponseEvent)
    assert decision.success


def test_response_of_a_failed_chat_raises_with_its_error():
    error = ErrorInfo(type="rate_limited", message="429", attempts=3, usage={"promptTokens": 7})
    event = ChatResponseEvent(
        request_id="r", response=None, success=False, error=error, user_context={"step": "triage"}
    )
    with pytest.raises(ChatFailedError, match="rate_limited: 429") as failure:
        _ = event.response
    assert failure.value.error == error
    read = Event.parse(event.to_json())
    assert isinstance(read, ChatResponseEvent)
    assert read.error == error
    assert read.message is None
    assert read.user_context == {"step": "triage"}


@pytest.mark.parametrize("attributes", [{"success": False}, {"success": True}, {}])
def test_response_without_a_message_raises(attributes):
    event = Event.parse(
        {
            "type": "_chat_response_event",
            "attributes": {"request_id": "r", "response": None, **attributes},
        }
    )
    assert isinstance(event, ChatResponseEvent)
    with pytest.raises(ChatFailedError, match="internal"):
        _ = event.response


def test_misspelt_attribute_raises_at_the_line_and_says_what_was_meant():
    with pytest.raises(EventError) as failure:
        ChatRequestEvent(modle="m", messages=[])  # type: ignore[call-arg]
    assert str(failure.value) == (
        "_chat_request_event: unknown attribute 'modle' (did you mean 'model'?); "
        "known: model, messages, prompt_args, output_schema, user_context"
    )


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"messages": []}, "_chat_request_event: model is missing"),
        ({"model": 5, "messages": []}, "model: Input should be a valid string"),
        ({"model": "m", "messages": "hi"}, "messages: "),
        ({"model": "m", "messages": [{}, {"role": "bot"}]}, r"messages\[1\]\.role: "),
        ({"model": "m", "messages": [{"colour": []}]}, r"messages\[0\]\.colour is unknown"),
        ({"model": "m", "messages": [{"blocks": [{"type": "image"}]}]}, r"messages\[0\]\.blocks\[0\]\.type"),
        ({"model": "m", "messages": [{"content": None}]}, r"messages\[0\]\.content"),
        ({"model": "m", "messages": [], "user_context": [1]}, "user_context: "),
    ],
)
def test_attribute_that_does_not_fit_is_named(attributes, message):
    with pytest.raises(EventError, match=message):
        ChatRequestEvent(**attributes)
    with pytest.raises(EventError, match=message):
        Event.parse({"type": "_chat_request_event", "attributes": attributes})


def test_a_value_that_does_not_fit_is_quoted_to_who_wrote_the_code_only():
    """What came in by Kafka is content: the message stands in headers and logs."""
    attributes = {"model": "m", "messages": [{"role": "s3cret"}]}
    with pytest.raises(EventError, match=r"messages\[0\]\.role: .* \(got 's3cret'\)"):
        ChatRequestEvent(**attributes)
    with pytest.raises(EventError, match=r"messages\[0\]\.role: .* \(got a string\)"):
        Event.parse({"type": "_chat_request_event", "attributes": attributes})


@pytest.mark.parametrize("value", ["5", 5.0, True, None, 0])
def test_numbers_and_flags_are_not_guessed_from_other_types(value):
    with pytest.raises(EventError, match="max_results"):
        ContextRetrievalRequestEvent(query="q", vector_store="s", max_results=value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"null", "an event is a JSON object"),
        (b"[]", "an event is a JSON object"),
        (b"{}", "type: expected a non-empty string, got None"),
        (b'{"type": ""}', "type: expected a non-empty string, got ''"),
        (b'{"type": 1}', "type: .* got 1"),
        (b'{"type": ["_chat_request_event"]}', "type: "),
        (b'{"type": "t", "id": 1}', "id: .* got 1"),
        (b'{"type": "t", "id": ""}', "id: "),
        (b'{"type": "t", "attributes": null}', "attributes: expected an object, got null"),
        (b'{"type": "t", "attributes": []}', "attributes: "),
        (b'{"type": "t", "attachments": 1}', "attachments: "),
        (b'{"type": "t", "upstreamEventId": 1}', "upstreamEventId: "),
        (b'{"type": "t", "upstreamActionName": {}}', "upstreamActionName: "),
        (b'{"type": "t", "attributes": {"a": NaN}}', "not JSON"),
        (b'{"type": "t", "attributes": {"a": 1e999}}', "not JSON"),
        (b'\xff{"type": "t"}', "not JSON"),
    ],
)
def test_what_is_no_event_is_refused_with_the_place(body, message):
    for read in (Event.from_json, Event.parse):
        with pytest.raises(EventError, match=message):
            read(body)


def test_tombstone_is_refused():
    with pytest.raises(EventError, match="this is None"):
        Event.from_json(None)  # type: ignore[arg-type]


def test_absent_or_null_id_becomes_a_new_uuid():
    for body in ('{"type": "t"}', '{"type": "t", "id": null}'):
        first, second = Event.from_json(body), Event.from_json(body)
        assert UUID(first.id).version == 4
        assert first.id != second.id
    assert UUID(InputEvent(input=1).id).version == 4
    assert InputEvent(input=1, id="mine").id == "mine"
    assert Event("t", id="mine").id == "mine"


def test_empty_id_is_refused_at_construction():
    for make in (lambda: InputEvent(input=1, id=""), lambda: Event("t", id="")):
        with pytest.raises(EventError, match="id"):
            make()


def test_of_repeated_keys_the_last_one_counts():
    event = Event.from_json('{"type": "a", "type": "b", "attributes": {"n": 1, "n": 2}}')
    assert event.type == "b"
    assert event.attributes == {"n": 2}


def test_lineage_is_written_in_the_words_of_flink_agents_and_left_out_when_none():
    for event in (InputEvent(input=1, id="1"), Event("t", id="1", upstream_event_id="forged")):
        sent = event.with_lineage("e1", "triage")
        assert type(sent) is type(event)
        body = sent.to_dict()
        assert (body["upstreamEventId"], body["upstreamActionName"]) == ("e1", "triage")
        assert sent == event
        read = Event.parse(sent.to_json())
        assert (read.upstream_event_id, read.upstream_action_name) == ("e1", "triage")
        assert event.upstream_action_name is None
        cleared = sent.with_lineage(None, None).to_dict()
        assert not {"upstreamEventId", "upstreamActionName"} & cleared.keys()


def test_attachments_are_kept_when_present():
    attachments = {"payload": {"@type": "memory_ref", "path": "memory.path"}}
    for name, attributes in (("_input_event", {"input": 1}), ("ticket", {})):
        body = {"id": "1", "type": name, "attributes": attributes, "attachments": attachments}
        assert Event.parse(body).to_dict() == body
        assert Event.from_dict(body).to_dict() == body
    assert "attachments" not in InputEvent(input=1).to_dict()


def test_events_do_not_change():
    for event in (InputEvent(input=1), Event("t")):
        with pytest.raises(AttributeError, match="events do not change"):
            event.id = "2"
        with pytest.raises(AttributeError, match="events do not change"):
            del event.id


def test_equality_is_id_type_and_attributes():
    assert Event("t", {"a": 1}, id="1") == Event("t", {"a": 1}, id="1", attachments={"x": 1})
    assert Event("t", {"a": 1}, id="1") != Event("t", {"a": 1}, id="2")
    assert Event("t", {"a": 1}, id="1") != Event("t", {"a": 2}, id="1")
    assert Event("t", {"a": 1}, id="1") != Event("u", {"a": 1}, id="1")
    assert Event("t", id="1") != "t"


def test_own_event_takes_python_values_in_json_form():
    class Ticket(BaseModel):
        customer: str
        at: datetime

    number = uuid4()
    at = datetime(2026, 1, 2, tzinfo=UTC)
    event = Event("ticket", {"number": number, "ticket": Ticket(customer="Ann", at=at), "tags": ("a", "b")})
    assert event.attributes == {
        "number": str(number),
        "ticket": {"customer": "Ann", "at": "2026-01-02T00:00:00Z"},
        "tags": ["a", "b"],
    }


def test_event_inside_an_event_is_written_as_an_event():
    inner = InputEvent(input=1)
    assert OutputEvent(output=inner).output == inner.to_dict()
    assert Event("t", {"e": inner.with_lineage("a", "b")}).attributes["e"]["upstreamEventId"] == "a"


def test_value_that_cannot_be_serialised_raises_at_construction_with_its_path():
    with pytest.raises(EventError, match=r"^attributes\.a\[1\]\.b: <object object"):
        Event("t", {"a": [0, {"b": object()}]})
    with pytest.raises(EventError, match=r"^input\.f: .*function"):
        InputEvent(input={"f": test_tombstone_is_refused})


def test_value_broken_after_construction_fails_when_written_with_its_path():
    event = InputEvent(input={"a": [1]})
    event.input["a"].append(object())
    with pytest.raises(EventError, match=r"attributes\.input\.a\[1\]"):
        event.to_json()


def test_output_schema_takes_a_pydantic_class():
    class Answer(BaseModel):
        text: str

    event = ChatRequestEvent(model="m", messages=[], output_schema=Answer)
    assert event.output_schema == Answer.model_json_schema()


def test_cancellation_says_what_to_cancel():
    with pytest.raises(EventError, match="request_id or token"):
        CancelRequestEvent(reason="changed my mind")
    assert CancelRequestEvent(request_id="r").attributes == {"request_id": "r"}


def test_token_of_a_wrong_form_is_refused():
    for token in ("", "chat", "chat.3.abc", TOKEN.upper(), f"{TOKEN}0", f"{TOKEN}\n", "a/b.3." + "0" * 32):
        with pytest.raises(EventError, match="token"):
            ApprovalResponseEvent(request_id="r", token=token, approved=True)


def test_tokens_are_fresh_readable_and_not_printed():
    first, second = Token.new("chat", 3), Token.new("chat", 3)
    assert first != second
    assert len(bytes.fromhex(first.secret)) == 16
    assert Token.parse(str(first)) == first
    assert first.matches(Token.parse(str(first)))
    assert not first.matches(second)
    assert first.secret not in repr(first)


def test_a_megabyte_of_nesting_is_refused_in_milliseconds():
    deep = [
        b"[" * 1_000_000,
        b'{"type":"t","attributes":{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}}" + b" " * 980_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b" " * 940_000,
    ]
    for data in deep:
        started = time.process_time()
        with pytest.raises(EventError, match="nested deeper than 100 levels"):
            Event.from_json(data)
        assert time.process_time() - started < 1.0


def test_a_megabyte_of_bad_items_is_refused_at_the_first():
    body = b'{"type":"_chat_request_event","attributes":{"model":"m","messages":[%s]}}' % b",".join([b"1"] * 400_000)
    started = time.process_time()
    with pytest.raises(EventError, match=r"messages\[0\]"):
        Event.parse(body)
    assert time.process_time() - started < 1  # seconds when every item is described


def test_what_can_be_built_can_be_read():
    value: object = 1
    for _ in range(jsonio.MAX_DEPTH - 2):
        value = [value]
    event = InputEvent(input=value)
    assert Event.parse(event.to_json()) == event
    with pytest.raises(EventError, match="nested deeper"):
        InputEvent(input=[value])
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(EventError, match="nested deeper"):
        InputEvent(input=loop)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)
envelopes = st.fixed_dictionaries(
    {"type": st.sampled_from([*sorted(BUILT_IN_TYPES), "ticket"]) | json_values},
    optional={
        name: st.none() | st.text(max_size=5) | json_values
        for name in ("id", "attributes", "attachments", "upstreamEventId", "upstreamActionName", "x")
    },
)
known_names = sorted({name for event, _ in WRITTEN for name in event.attribute_names()})
near_events = st.fixed_dictionaries(
    {
        "type": st.sampled_from(sorted(BUILT_IN_TYPES)),
        "attributes": st.dictionaries(st.sampled_from(known_names), json_values, max_size=5),
    }
)


@given(st.binary() | st.text() | (envelopes | near_events).map(json.dumps))
@example(b"[" * 2000)
@example('{"type":"t","id":"\ud800"}')
def test_reading_raises_nothing_but_event_error(data):
    for read in (Event.from_json, Event.parse):
        try:
            event = read(data)
        except EventError:
            continue
        assert repr(event)
        assert Event.from_json(event.to_json()) == event


@given(st.text(min_size=1), st.dictionaries(st.text(), json_values))
def test_json_round_trip(name, attributes):
    event = Event(name, attributes)
    assert Event.from_json(event.to_json()) == event
    assert event.attributes == attributes
    assert json.loads(event.to_json())["attributes"] == attributes


@given(json_values)
def test_json_round_trip_of_typed_events(value):
    event = InputEvent(input=value)
    assert Event.parse(event.to_json()) == event
    assert event.attributes == {"input": value}


def test_an_owned_body_is_read_as_its_class_and_stays_as_it_was() -> None:
    body = {"id": "1", "type": "_tool_response_event", "attributes": {"request_id": "r", "responses": {"c": 1}}}
    before = copy.deepcopy(body)
    event = Event.own(body)
    assert isinstance(event, ToolResponseEvent)
    assert event == Event.parse(before)
    assert body == before
    with pytest.raises(EventError):
        Event.own([])
