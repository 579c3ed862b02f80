"""The contracts of user_context (DESIGN 4.2), as far as events keep them, under their numbers there."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from parkway.schemas import user_context
from parkway.schemas.events import (
    ChatFailedError,
    ChatMessage,
    ChatRequestEvent,
    ChatResponseEvent,
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    DecisionRequestEvent,
    DecisionResponseEvent,
    ErrorInfo,
    Event,
    EventError,
    ToolRequestEvent,
    ToolResponseEvent,
    TypedEvent,
)
from parkway.schemas.parked import Origin, ParkedRecord

Make = Callable[..., TypedEvent]

FAILED = ErrorInfo(type="timeout", message="no answer", attempts=3)

REQUESTS: dict[str, Make] = {
    "chat": lambda **extra: ChatRequestEvent(model="m", messages=[ChatMessage.user("hi")], **extra),
    "tool": lambda **extra: ToolRequestEvent(model="m", tool_calls=[], **extra),
    "retrieval": lambda **extra: ContextRetrievalRequestEvent(query="q", vector_store="s", **extra),
    "decision": lambda **extra: DecisionRequestEvent(model="m", state="s", questions={"q": {}}, **extra),
}
RESPONSES: dict[str, Make] = {
    "chat": lambda **extra: ChatResponseEvent(response=ChatMessage.assistant("yes"), **extra),
    "tool": lambda **extra: ToolResponseEvent(responses={"1": "ok"}, **extra),
    "retrieval": lambda **extra: ContextRetrievalResponseEvent(query="q", documents=[], **extra),
    "decision": lambda **extra: DecisionResponseEvent(model="m", answers={}, **extra),
}
FAILURES: dict[str, Make] = {
    "chat": lambda **extra: ChatResponseEvent(response=None, success=False, error=FAILED, **extra),
    "tool": lambda **extra: ToolResponseEvent(
        responses={"1": "Tool `f` execute failed."}, success={"1": False}, error={"1": "boom"}, **extra
    ),
    "decision": lambda **extra: DecisionResponseEvent(model="m", success=False, error=FAILED, **extra),
}
KINDS = list(REQUESTS)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
contexts = st.dictionaries(st.text(), json_values, max_size=4)


def answer(request: TypedEvent, make: Make) -> TypedEvent:
    """The response to a request that has travelled as bytes, read from bytes again."""
    read: Any = Event.parse(request.to_json())
    response = Event.parse(make(request_id=read.id, user_context=read.user_context).to_json())
    assert isinstance(response, TypedEvent)
    return response


def context_of(event: TypedEvent) -> Any:
    """The value as a field and as an attribute, which must agree."""
    value = event.user_context  # type: ignore[attr-defined]
    assert event.attributes.get("user_context") == value
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_contract_01_unset_leaves_no_key(kind):
    request = REQUESTS[kind]()
    response = answer(request, RESPONSES[kind])
    for event in (request, response):
        assert b"user_context" not in event.to_json()
        assert "user_context" not in event.attributes
        assert event.user_context is None  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", KINDS)
@given(value=contexts)
def test_contract_02_success_response_carries_the_same_value(kind, value):
    request = REQUESTS[kind](user_context=value)
    assert context_of(request) == value
    assert context_of(answer(request, RESPONSES[kind])) == value


@pytest.mark.parametrize("kind", FAILURES)
def test_contract_03_failure_response_carries_it_too(kind):
    value = {"step": "triage", "n": [1, None]}
    response = answer(REQUESTS[kind](user_context=value), FAILURES[kind])
    assert context_of(response) == value
    if isinstance(response, ChatResponseEvent):
        with pytest.raises(ChatFailedError):
            _ = response.response
        assert context_of(response) == value


@given(st.permutations(range(6)), st.sampled_from(KINDS))
def test_contract_04_concurrent_requests_never_exchange_it(order, kind):
    shared: dict[str, Any] = {"tags": []}
    requests = []
    for number in range(6):  # one object, reused and changed by the caller between the requests
        shared["number"] = number
        shared["tags"].append(number)
        requests.append(REQUESTS[kind](user_context=shared))
    responses = {number: answer(requests[number], RESPONSES[kind]) for number in order}
    for number, response in responses.items():
        assert context_of(response) == {"number": number, "tags": list(range(number + 1))}


@given(contexts)
def test_contract_05_first_value_survives_tool_rounds_and_a_workers_death(value):
    request = ChatRequestEvent(model="m", messages=[], user_context=value)
    body = request.to_dict()
    for round_number in range(1, 4):  # parked, read by another worker, parked again
        tools = ToolRequestEvent(model="m", tool_calls=[], user_context={"of": "the tool request"})
        record = parked(body, round_number, tools.id)
        body = ParkedRecord.from_json(record.to_json()).request
    resumed = Event.parse(body)
    assert isinstance(resumed, ChatRequestEvent)
    response = RESPONSES["chat"](request_id=resumed.id, user_context=resumed.user_context)
    assert context_of(response) == value


@pytest.mark.parametrize("kind", KINDS)
def test_contract_06_it_stands_in_its_own_attribute_only(kind):
    marked = REQUESTS[kind](id="1", user_context={"secret": "marker-7f3a"})
    assert marked.to_json().count(b"marker-7f3a") == 1
    without = {name: value for name, value in marked.attributes.items() if name != "user_context"}
    assert without == REQUESTS[kind](id="1").attributes


class Customer(BaseModel):
    name: str
    since: date
    ref: UUID


@dataclass
class Point:
    x: int
    y: int


class Colour(Enum):
    RED = "red"


REF = UUID("00000000-0000-0000-0000-00000000002a")
AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)

JSON_FORMS = [
    (REF, str(REF)),
    (AT, "2026-01-02T03:04:05.000678Z"),
    (datetime(2026, 1, 2), "2026-01-02T00:00:00"),  # noqa: DTZ001 - a naive one stays naive
    (date(2026, 1, 2), "2026-01-02"),
    (timedelta(hours=1), "PT1H"),
    (Decimal("1.10"), "1.10"),
    ((1, (2,)), [1, [2]]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    (Colour.RED, "red"),
    (Point(1, 2), {"x": 1, "y": 2}),
    (
        Customer(name="Ann", since=date(2020, 5, 6), ref=REF),
        {"name": "Ann", "since": "2020-05-06", "ref": str(REF)},
    ),
    (
        [Customer(name="Ann", since=date(2020, 5, 6), ref=REF)],
        [{"name": "Ann", "since": "2020-05-06", "ref": str(REF)}],
    ),
    (ChatMessage.user("hi"), {"role": "user", "content": "hi", "tool_calls": [], "extra_args": {}}),
    ({1: "a", REF: "b", Colour.RED: "c"}, {"1": "a", str(REF): "b", "red": "c"}),
    (2**63 - 1, 2**63 - 1),
    (-(2**63), -(2**63)),
    (2**64 - 1, 2**64 - 1),
    (1e300, 1e300),
    ("\u0000é😀", "\u0000é😀"),
]


@pytest.mark.parametrize(("value", "form"), JSON_FORMS, ids=repr)
def test_contract_08_python_values_take_their_json_form_and_survive(value, form):
    request = ChatRequestEvent(model="m", messages=[], user_context={"v": value})
    assert request.user_context == {"v": form}
    assert json.loads(request.to_json())["attributes"]["user_context"] == {"v": form}
    record = parked(request.to_dict(), 1, "t")
    restored = Event.parse(ParkedRecord.from_json(record.to_json()).request)
    assert isinstance(restored, ChatRequestEvent)
    assert restored.user_context == {"v": form}
    assert restored == request
    again = ChatRequestEvent(model="m", messages=[], user_context=restored.user_context)
    assert again.user_context == request.user_context


@given(contexts)
def test_contract_08_json_comes_back_as_it_was(value):
    request = ChatRequestEvent(model="m", messages=[], user_context=value)
    restored = Event.parse(request.to_json())
    assert isinstance(restored, ChatRequestEvent)
    assert json.dumps(restored.user_context) == json.dumps(value)  # 1, 1.0 and True are different here


@pytest.mark.parametrize("kind", KINDS)
def test_contract_09_unknown_attribute_is_rejected_beside_it(kind):
    with pytest.raises(EventError, match="unknown attribute 'colour'"):
        REQUESTS[kind](user_context={}, colour="red")
    body = REQUESTS[kind](user_context={"a": 1}).to_dict()
    body["attributes"]["user_contxt"] = {}
    with pytest.raises(EventError, match=r"'user_contxt' \(did you mean 'user_context'\?\)"):
        Event.parse(body)


@pytest.mark.parametrize("kind", KINDS)
def test_contract_09_empty_is_kept(kind):
    response = answer(REQUESTS[kind](user_context={}), RESPONSES[kind])
    assert response.attributes["user_context"] == {}


@pytest.mark.parametrize("kind", KINDS)
def test_contract_09_null_clears_it(kind):
    assert "user_context" not in REQUESTS[kind](user_context=None).attributes
    body = REQUESTS[kind](user_context={"a": 1}).to_dict()
    body["attributes"]["user_context"] = None
    request = Event.parse(body)
    assert isinstance(request, TypedEvent)
    assert b"user_context" not in answer(request, RESPONSES[kind]).to_json()


@pytest.mark.parametrize("kind", KINDS)
@given(value=contexts)
def test_contract_10_request_restored_from_json_still_echoes_it(kind, value):
    restored = Event.parse(json.loads(json.dumps(REQUESTS[kind](user_context=value).to_dict())))
    assert isinstance(restored, TypedEvent)
    assert context_of(answer(restored, RESPONSES[kind])) == value


def change_everything(value: Any) -> None:
    """Change every list, map and set inside of `value`, the deepest first."""
    if isinstance(value, dict):
        for item in value.values():
            change_everything(item)
        value["changed"] = "changed"
    elif isinstance(value, list):
        for item in value:
            change_everything(item)
        value.append("changed")
    elif isinstance(value, tuple):
        for item in value:
            change_everything(item)
    elif isinstance(value, set):
        value.add("changed")


python_values = st.recursive(
    st.none() | st.integers(-100, 100) | st.text(max_size=3) | st.sets(st.text(max_size=3), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=3), python_values, min_size=1, max_size=3), st.sampled_from(KINDS))
def test_contract_11_attached_value_is_a_deep_copy(value, kind):
    request = REQUESTS[kind](user_context=value)
    attached = user_context.attach(value)
    before = json.dumps(attached)
    change_everything(value)
    assert json.dumps(context_of(request)) == before
    assert json.dumps(attached) == before
    assert value != attached  # the change was one


@given(contexts.filter(bool))
def test_contract_11_copies_handed_out_are_not_the_events_own(value):
    request = ChatRequestEvent(model="m", messages=[], user_context=value)
    change_everything(request.to_dict())
    change_everything(request.attributes)
    response = ChatResponseEvent(
        request_id=request.id, response=ChatMessage.assistant(""), user_context=request.user_context
    )
    change_everything(response.user_context)
    assert request.user_context == value


def test_contract_11_pydantic_models_and_messages_are_copied():
    customer = Customer(name="Ann", since=date(2020, 5, 6), ref=REF)
    message = ChatMessage.user("first")
    request = ChatRequestEvent(model="m", messages=[message], user_context={"customer": customer})
    customer.name = "changed"
    message.content = "changed"
    message.extra_args["changed"] = 1
    assert request.user_context == {
        "customer": {"name": "Ann", "since": "2020-05-06", "ref": str(REF)},
    }
    assert request.messages == [ChatMessage.user("first")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, 2, {"b": object()}]}, r"^user_context\.a\[2\]\.b: <object object .*cannot be written"),
        ({"a": {"odd key": print}}, r"^user_context\.a\['odd key'\]: "),
        ({"a": (1, float("nan"))}, r"^user_context\.a\[1\]: nan is not a JSON number"),
        ({"a": float("-inf")}, r"^user_context\.a: -inf "),
        ({"n": 2**64}, r"^user_context\.n: .*64 bits"),
        ({"s": "\ud800"}, r"^user_context\.s: .*surrogate"),
        ({"\ud800": 1}, r"^user_context: .*surrogate"),
        ({"b": b"\xff"}, r"^user_context\.b: "),
        ({"d": {(1, object()): 1}}, r"^user_context\.d: key "),
        ({"d": {1: "a", "1": "b"}}, r"^user_context\.d: two keys become '1'"),
        ({"t": ChatMessage}, r"^user_context\.t: "),
        ({"set": {1, print}}, r"^user_context\.set\{\}: "),
    ],
)
def test_contract_13_value_that_cannot_be_serialised_fails_with_its_path(value, message):
    for kind in KINDS:
        with pytest.raises(EventError, match=message):
            REQUESTS[kind](user_context=value)
    with pytest.raises(EventError, match=message):
        user_context.attach(value)


def test_contract_13_value_put_in_later_fails_when_the_event_is_written():
    request = ChatRequestEvent(model="m", messages=[], user_context={"a": [1]})
    assert request.user_context is not None
    request.user_context["a"].append({"b": object()})
    with pytest.raises(EventError, match=r"user_context\.a\[1\]\.b: "):
        request.to_json()
    assert repr(request)


def test_contract_13_value_that_contains_itself_fails():
    loop: dict[str, Any] = {}
    loop["again"] = loop
    with pytest.raises(EventError, match=r"^user_context\.again.*contains itself"):
        user_context.attach(loop)


@pytest.mark.parametrize("value", [[], "text", 1, True, [("a", 1)]])
def test_what_is_no_map_is_refused(value):
    for kind in KINDS:
        with pytest.raises(EventError, match="user_context"):
            REQUESTS[kind](user_context=value)
    with pytest.raises(EventError, match="user_context: expected a map"):
        user_context.attach(value)


def parked(request: dict[str, Any], round_number: int, waits_for: str) -> ParkedRecord:
    """The record that a chat worker writes between two rounds."""
    return ParkedRecord(
        build="b",
        action="chat",
        record_key=None,
        origin=Origin(topic="parkway.action.chat", partition=0, offset=1),
        request=request,
        request_hash="h",
        round=round_number,
        waits_for=waits_for,
        deadline=0,
    )
