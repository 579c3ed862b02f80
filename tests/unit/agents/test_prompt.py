import pytest

from parkway.agents import AgentError, ChatMessage, Prompt
from parkway.agents.prompt import PromptArgumentsError


def texts(prompt, **arguments):
    return [message.content for message in prompt.render(arguments)]


def test_a_text_is_one_message_of_its_role():
    assert [message.role for message in Prompt("Be brief.").render({})] == ["system"]
    assert [message.role for message in Prompt.from_text("Hi {name}", role="user").render({"name": "Ada"})] == ["user"]


def test_messages_are_filled_each():
    prompt = Prompt.from_messages([ChatMessage.system("Speak {language}."), {"role": "user", "content": "{question}"}])
    assert texts(prompt, language="Latin", question="quid?") == ["Speak Latin.", "quid?"]
    assert prompt.placeholders == {"language", "question"}


def test_a_file_is_read_when_the_prompt_is_made(tmp_path):
    path = tmp_path / "triage.md"
    path.write_text("Grüße an {name}", encoding="utf-8")
    prompt = Prompt.from_file(path, role="user")
    path.unlink()
    assert texts(prompt, name="Ada") == ["Grüße an Ada"]
    with pytest.raises(AgentError, match=r"triage\.md.*looked in"):
        Prompt.from_file(path)


@pytest.mark.parametrize(
    "text",
    ['Answer as {"a": 1, "b": [{}]}', "{{", "}} {", "f(x) { return {1: 2} }", "{a b}", "{0}", "{a.b}", "{a-b}"],
)
def test_other_braces_are_text(text):
    assert texts(Prompt(text), unused="x") == [text]


def test_an_argument_is_filled_in_once_and_not_looked_into():
    prompt = Prompt("{a} {b} {a b}")
    assert texts(prompt, a="{b}", b={"x": [1, None]}, **{"a b": "third"}) == ['{b} {"x":[1,null]} third']
    assert texts(Prompt("{a} {a.__class__}"), a="x") == ["x {a.__class__}"]


def test_what_is_missing_is_named_and_no_value_is_quoted():
    with pytest.raises(PromptArgumentsError, match=r"the prompt needs 'city', 'name'; given: age$"):
        Prompt("{name} {city} {age}").render({"age": "secret"})
    with pytest.raises(PromptArgumentsError, match="given: nothing"):
        Prompt("{name}").render({})


def test_defaults_stand_for_what_a_request_does_not_bring():
    prompt = Prompt("{tone} {x}", defaults={"tone": "Friendly.", "x": "{x}"})
    assert texts(prompt) == ["Friendly. {x}"]
    assert texts(prompt, tone="Stern.") == ["Stern. {x}"]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "the text is empty"),
        ([], "a text, or a list of messages"),
        (7, "a text, or a list of messages"),
        ([{"role": "users", "content": "x"}], "message 0: role"),
        ([{"role": "user", "text": "x"}], "message 0: text"),
        ([ChatMessage.tool("x", "1")], "message 0: tool calls"),
    ],
)
def test_what_cannot_be_a_prompt_is_refused(template, message):
    with pytest.raises(AgentError, match=message):
        Prompt(template)
    with pytest.raises(AgentError, match="'system' or 'user'"):
        Prompt("x", role="assistant")
