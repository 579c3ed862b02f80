import asyncio

import pytest
from pydantic import BaseModel
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart

from parkway.testing import CallTool, Question, ScriptedModel, ScriptError


def ask(model: ScriptedModel, *texts: str) -> ModelResponse:
    messages = [ModelRequest.user_text_prompt(text) for text in texts]
    return asyncio.run(model_request(model, messages))


class Verdict(BaseModel):
    label: str


def test_replies_of_every_form():
    model = ScriptedModel(
        "text",
        CallTool("find", {"q": 1}),
        ["thinking", CallTool("a"), CallTool("b")],
        Verdict(label="bug"),
        {"label": "docs"},
        ModelResponse(parts=[TextPart("as it is")]),
        OSError("away"),
        KeyError,
    )
    assert ask(model, "1").text == "text"
    (call,) = ask(model, "2").parts
    assert isinstance(call, ToolCallPart)
    assert (call.tool_name, call.args_as_dict()) == ("find", {"q": 1})
    assert [type(part).__name__ for part in ask(model, "3").parts] == ["TextPart", "ToolCallPart", "ToolCallPart"]
    assert ask(model, "4").text == '{"label":"bug"}'
    assert ask(model, "5").text == '{"label": "docs"}'
    assert ask(model, "6").text == "as it is"
    with pytest.raises(OSError, match="away"):
        ask(model, "7")
    with pytest.raises(KeyError):
        ask(model, "8")
    with pytest.raises(ScriptError, match=r"script of 8 replies is used up by request 9: user: 9"):
        ask(model, "9")
    assert [question.text for question in model.questions] == [str(number) for number in range(1, 10)]


def test_a_function_of_the_question():
    async def later(question: Question) -> str:
        return f"{question.text}, round {question.rounds}"

    assert ask(ScriptedModel(lambda question: question.text.upper()), "hi").text == "HI"
    assert ask(ScriptedModel(later), "hi").text == "hi, round 0"
    with pytest.raises(ValueError, match="not both"):
        ScriptedModel("a", later)


def test_what_no_reply_is():
    with pytest.raises(TypeError, match="a scripted reply is text"):
        ask(ScriptedModel([3]), "hi")


def test_per_conversation_counts_retries_and_starts_anew_for_each():
    model = ScriptedModel(TimeoutError(), "first", per_conversation=True)
    for text in ("a", "b"):
        with pytest.raises(TimeoutError):
            ask(model, text)
        assert ask(model, text).text == "first"


def test_a_restart_begins_the_script_anew():
    model = ScriptedModel("one", "two")
    assert ask(model, "a").text == "one"
    model.restart()
    assert (ask(model, "b").text, len(model.questions)) == ("one", 1)


def test_after_a_death_what_was_asked_gets_the_same_reply_and_what_was_not_the_next():
    model = ScriptedModel("one", "two", "three")
    assert [ask(model, text).text for text in "ab"] == ["one", "two"]
    model.process_died()
    assert [ask(model, text).text for text in "bac"] == ["two", "one", "three"]
