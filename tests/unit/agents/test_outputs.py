"""What a handler gets out of a chat response, and its types."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError, model_validator

from parkway.agents import AgentError, ChatFailedError, ChatMessage, ChatModel, ChatRequestEvent, ChatResponseEvent
from parkway.agents.output_type import OutputType
from parkway.schemas.events import ErrorInfo

ROOT = Path(__file__).parents[3]


class Verdict(BaseModel):
    urgent: bool
    score: int = 0

    @model_validator(mode="after")
    def _fits(self):
        if self.urgent and not self.score:
            raise ValueError("urgent needs a score")
        return self


@dataclass
class Point:
    x: int


def answer(text, **extra):
    return ChatResponseEvent(
        request_id="1", response=ChatMessage(role="assistant", content=text, extra_args=extra), success=True
    )


def test_mypy_sees_the_types():
    file = "tests/unit/agents/typed_outputs.py"
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--warn-unused-ignores", file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_an_answer_is_what_output_type_says():
    text = '{"urgent": true, "score": 3}'
    assert ChatModel("test", output_type=Verdict).output(answer(text)) == Verdict(urgent=True, score=3)
    assert ChatModel("test", output_type=list[int]).output(answer("[1, 2]")) == [1, 2]
    assert ChatModel("test", output_type=Point).output(answer('{"x": 1}')) == Point(1)
    assert ChatModel("test", output_type={"type": "object"}).output(answer(text)) == {"urgent": True, "score": 3}
    assert ChatModel("test").output(answer("plain")) == "plain"
    assert answer(text).output(Verdict) == Verdict(urgent=True, score=3)


def test_an_answer_that_came_from_flink_agents_has_its_value_beside_the_text():
    assert answer("Here: ...", structured_output={"urgent": False}).output(Verdict) == Verdict(urgent=False)


def test_a_failed_response_raises_its_error():
    failed = ChatResponseEvent(
        request_id="1", response=None, success=False, error=ErrorInfo(type="rate_limited", message="429")
    )
    for read in (lambda: failed.output(Verdict), lambda: ChatModel("test", output_type=Verdict).output(failed)):
        with pytest.raises(ChatFailedError, match="rate_limited: 429") as raised:
            read()
        assert raised.value.error.type == "rate_limited"


def test_another_form_is_a_value_error():
    with pytest.raises(ValueError, match=r"\$.urgent: Field required"):
        ChatModel("test", output_type=Verdict).output(answer("{}"))
    with pytest.raises(ValidationError):
        answer("{}").output(Verdict)


def test_what_json_schema_cannot_say_is_said_with_its_place():
    with pytest.raises(ValueError, match=r"\$\[0\]: urgent needs a score"):
        OutputType(list[Verdict]).read('[{"urgent": true}]')


@pytest.mark.parametrize("given", ["Verdict", object(), memoryview])
def test_what_has_no_schema_is_refused(given):
    with pytest.raises(AgentError, match="output_type="):
        ChatModel("test", output_type=given)


def test_a_request_takes_a_pydantic_class_as_its_schema():
    request = ChatRequestEvent(model="m", messages=[], output_schema=Verdict)
    assert request.output_schema == Verdict.model_json_schema()
