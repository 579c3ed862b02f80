"""Structured output of a chat, and the JSON schema check behind it."""

import json
import time
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from parkway.agents import ChatModel, Retry, tool
from parkway.agents.chat_model import ModelSource
from parkway.schemas.events import ChatMessage, ChatRequestEvent, ChatResponseEvent
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.json_schema import SchemaError, first_problem
from parkway.workers.actions.structured_output import OutputInvalidError, read_output
from parkway.workers.effects import Effects, Task


class Line(BaseModel):
    name: str = Field(min_length=1)
    amount: float = Field(ge=0)


class Order(BaseModel):
    lines: list[Line]
    note: str | None = None


GOOD = '{"lines":[{"name":"tea","amount":2.50}]}'


@tool
def lookup() -> str:
    """Looks something up."""
    return ""


async def run(
    replies: list[str], *, schema: Any = Order, capture: bool = False, **options: Any
) -> tuple[Effects, list[Any]]:
    asked: list[Any] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append((messages, info))
        return ModelResponse([TextPart(replies[len(asked) - 1])])

    chat = ChatModel(FunctionModel(reply), **options)
    action = ChatAction({"assistant": chat}, backoff=Retry(backoff=0), capture_content=capture)
    request = ChatRequestEvent(
        model="assistant", messages=[ChatMessage.user("order")], output_schema=schema, user_context={"a": 1}
    )
    return await action.handle(Task(request.to_dict(), int(time.time() * 1000) + 30_000)), asked


def response_of(effects: Effects) -> ChatResponseEvent:
    assert isinstance(effects.response, ChatResponseEvent)
    return effects.response


@pytest.mark.parametrize("reply", [GOOD, f"```json\n{GOOD}\n```", f"Here it is:\n```\n{GOOD}\n```\nEnjoy!"])
async def test_the_answer_is_the_json_alone_as_the_model_wrote_it(reply: str) -> None:
    effects, asked = await run([reply])
    assert response_of(effects).response.content == GOOD
    assert len(asked) == 1


class Shipment(BaseModel):
    order: Order
    days: int = Field(ge=2, le=5)
    by: Literal["road", "sea"]
    insured: bool


async def ask_test_model(model: ModelSource = "test", **options: Any) -> tuple[ChatModel[Any], Effects]:
    chat: ChatModel[Any] = ChatModel(model, **options)
    action = ChatAction({"assistant": chat}, backoff=Retry(backoff=0))
    request = ChatRequestEvent(model="assistant", messages=[ChatMessage.user("order")])
    return chat, await action.handle(Task(request.to_dict(), int(time.time() * 1000) + 30_000))


@pytest.mark.parametrize("form", [Shipment, list[Line], int, TypeAdapter(Shipment).json_schema()])
async def test_the_model_called_test_answers_in_the_form_that_is_asked_for(form: Any) -> None:
    chat, effects = await ask_test_model(output_type=form)
    made = chat.output(response_of(effects))
    if isinstance(form, dict):
        Shipment.model_validate(made)
    else:
        TypeAdapter(form).validate_python(made, strict=True)


async def test_the_model_called_test_calls_its_tools_first_and_keeps_a_text_that_was_given() -> None:
    _, effects = await ask_test_model(output_type=Shipment, tools=[lookup])
    assert effects.park is not None  # the answer comes when it has what it asked for
    given = TestModel(custom_output_text='{"lines": []}')
    chat, effects = await ask_test_model(given, output_type=Order)
    assert chat.output(response_of(effects)) == Order(lines=[])
    _, effects = await ask_test_model()
    assert response_of(effects).response.content == "success (no tool calls)"


async def test_what_the_model_called_test_cannot_make_up_is_said() -> None:
    _, effects = await ask_test_model(output_type={"type": "string", "pattern": "^order-[0-9]+$"}, max_retries=0)
    assert response_of(effects).error is not None
    assert response_of(effects).error.type == "output_invalid"


async def test_a_bad_answer_is_asked_again_with_the_reason() -> None:
    effects, asked = await run(["no idea", '{"lines":[{"name":"tea","amount":-1}]}', GOOD])
    response = response_of(effects)
    assert response.success
    assert response.retry_count == 2
    texts = [str(messages[-1].parts[-1].content) for messages, _ in asked]
    assert "not JSON" in texts[1]
    assert "$.lines[0].amount: -1 is less than the minimum" in texts[2]


async def test_output_that_never_fits_ends_in_output_invalid() -> None:
    effects, asked = await run(["secret"] * 3, max_retries=2)
    response = response_of(effects)
    assert response.error is not None
    assert response.error.type == "output_invalid"
    assert response.error.attempts == len(asked) == 3
    assert response.user_context == {"a": 1}


async def test_the_reason_stands_in_the_response_only_when_content_may_be_captured() -> None:
    bad = '{"lines":[{"name":"tea","amount":"secret"}]}'
    plain, _ = await run([bad], max_retries=0)
    quoted, _ = await run([bad], max_retries=0, capture=True)
    assert "secret" not in response_of(plain).to_json().decode()
    assert "secret" in response_of(quoted).to_json().decode()


async def test_the_schema_is_native_for_objects_and_in_the_instructions_beside_tools() -> None:
    _, ((_, native),) = await run([GOOD])
    assert native.model_request_parameters.output_mode == "native"
    assert native.instructions is None
    _, ((_, told),) = await run([GOOD], tools=[lookup], instructions="Be brief.")
    assert told.model_request_parameters.output_mode == "text"
    assert told.instructions.startswith("Be brief.")
    assert '"lines"' in told.instructions
    effects, _ = await run(["[1, 2]"], schema={"type": "array", "items": {"type": "integer"}})
    assert response_of(effects).response.content == "[1, 2]"


@pytest.mark.parametrize("schema", ["text", [1], True, {"type": "strin"}, {"$ref": "#/nowhere"}, {"pattern": "("}])
async def test_a_schema_that_cannot_be_used_is_a_bad_request(schema: Any) -> None:
    effects, _ = await run(['"text"'] * 4, schema=schema)
    response = response_of(effects)
    assert response.error is not None
    assert response.error.type == "bad_request"
    assert "output_schema" in response.error.message


def test_a_fence_inside_a_string_is_not_taken_for_the_answer() -> None:
    text = json.dumps({"code": "```json\n{}\n```"})
    assert read_output(text, {"type": "object", "required": ["code"]}) == text


def test_two_fenced_blocks_are_ambiguous() -> None:
    with pytest.raises(OutputInvalidError):
        read_output("```json\n1\n```\n```json\n2\n```", {})


@pytest.mark.parametrize(
    ("value", "schema", "fits"),
    [
        (1, {"type": "integer"}, True),
        (1.0, {"type": "integer"}, True),
        (1.5, {"type": "integer"}, False),
        (True, {"type": "integer"}, False),
        (None, {"type": ["string", "null"]}, True),
        (True, {"enum": [1]}, False),
        ([True], {"const": [1]}, False),
        (1.0, {"const": 1}, True),
        ({"a": 1}, {"properties": {}, "additionalProperties": False}, False),
        ({"x_1": 1}, {"patternProperties": {"^x_": {}}, "additionalProperties": False}, True),
        ({"a": "b"}, {"additionalProperties": {"type": "integer"}}, False),
        ([1, "a"], {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, True),
        ([1, 2], {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, False),
        ([1, 1.0], {"uniqueItems": True}, False),
        ([1, True], {"uniqueItems": True}, True),
        (0.3, {"multipleOf": 0.1}, True),
        (0.35, {"multipleOf": 0.1}, False),
        (5, {"exclusiveMaximum": 5}, False),
        ("abc", {"pattern": "^b"}, False),
        ("abc", {"maxLength": 3, "pattern": "b"}, True),
        (1, {"oneOf": [{"type": "integer"}, {"type": "number"}]}, False),
        (1, {"anyOf": [{"type": "string"}, {"minimum": 2}]}, False),
        (1, {"not": {"type": "integer"}}, False),
        (1, {"allOf": [{"type": "integer"}, {"maximum": 0}]}, False),
        (
            {"next": {"next": None}},
            {
                "$defs": {"n": {"properties": {"next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}}},
                "$ref": "#/$defs/n",
            },
            True,
        ),
        (1, False, None),
    ],
)
def test_keywords(value: Any, schema: Any, *, fits: bool | None) -> None:
    if fits is None:
        assert first_problem([value], {"items": schema}) == "$[0]: no value is allowed here"
    else:
        assert (first_problem(value, schema) is None) is fits


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {
            "$defs": {
                "a": {"anyOf": [{"$ref": "#/$defs/b"}] * 9},
                "b": {"anyOf": [{"$ref": "#/$defs/a"}] * 9},
            },
            "$ref": "#/$defs/a",
        },
        {"$ref": "http://elsewhere/schema"},
        {"properties": []},
        {"items": 7},
        {"minimum": "1"},
        {"multipleOf": 0},
    ],
)
def test_schemas_without_end_or_sense_are_refused_soon(schema: Any) -> None:
    started = time.monotonic()
    with pytest.raises(SchemaError):
        [first_problem(value, schema) for value in ({"a": [1]}, [1], 1)]
    assert time.monotonic() - started < 2


class Leaf(BaseModel):
    kind: str = Field(pattern="^[a-c]+$", max_length=3)
    size: int = Field(gt=0, lt=10)
    tags: set[str] = Field(max_length=2)


ADAPTER = TypeAdapter(dict[str, Leaf | list[Leaf] | None])
SCHEMA = ADAPTER.json_schema()
LEAVES = st.fixed_dictionaries(
    {
        "kind": st.text("abcd", max_size=4),
        "size": st.one_of(st.integers(-1, 11), st.just("3"), st.booleans()),
        "tags": st.lists(st.sampled_from("xyz"), max_size=3),
    }
)


@given(st.dictionaries(st.text(max_size=2), st.one_of(st.none(), LEAVES, st.lists(LEAVES, max_size=2)), max_size=2))
def test_agrees_with_pydantic_on_the_schema_that_pydantic_writes(value: Any) -> None:
    try:
        ADAPTER.validate_json(json.dumps(value), strict=True)
        fits = True
    except ValueError:
        fits = False
    # A set takes an item twice; its schema (uniqueItems) does not.
    twice = any(len(set(leaf["tags"])) < len(leaf["tags"]) for leaf in _leaves(value))
    assert (first_problem(value, SCHEMA) is None) is (fits and not twice)


def _leaves(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [leaf for each in value.values() for leaf in (each if isinstance(each, list) else [each]) if leaf]
