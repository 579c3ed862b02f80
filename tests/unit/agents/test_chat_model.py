import pytest
from pydantic_ai.models.test import TestModel

from parkway.agents import AgentError, ChatModel, tool


@tool
def lookup(name: str) -> str:
    return name


def shout(text: str) -> str:
    """Shouts."""
    return text.upper()


def test_defaults_and_sources():
    model = ChatModel("openai:gpt-5-mini", fallbacks=["anthropic:claude-haiku-4-5"], tools=[lookup, shout])
    assert model.sources == ("openai:gpt-5-mini", "anthropic:claude-haiku-4-5")
    assert (model.max_retries, model.max_tool_rounds, model.timeout, model.deadline) == (3, 20, 60.0, 600.0)
    assert [each.name for each in model.tools] == ["lookup", "shout"]
    assert model.tools[0] is lookup
    assert model.settings == {}


def test_a_model_or_a_function_that_makes_one():
    instance = TestModel()
    assert ChatModel(instance).sources == (instance,)
    assert ChatModel(lambda: instance).sources[0]() is instance


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "gpt-5"}, "'provider:model'"),
        ({"model": "openai:b", "requests_per_minute": 0}, "requests_per_minute=0"),
        ({"model": "openai:b", "tokens_per_minute": 1.5}, "tokens_per_minute=1.5"),
        ({"model": "openai:b", "concurrency": True}, "concurrency=True"),
        ({"model": "openai:"}, "'provider:model'"),
        ({"model": "opnai:gpt-5"}, r"no provider is called 'opnai' \(did you mean openai\?\)"),
        ({"model": "openai:gpt-5", "fallbacks": ["antropic:x"]}, "did you mean anthropic"),
        ({"model": 3}, "a model name, a pydantic-ai model, or a function"),
        ({"model": TestModel}, "a model name, a pydantic-ai model, or a function"),
        ({"model": "openai:b", "fallbacks": "openai:d"}, r"fallbacks='openai:d'\): a list"),
        ({"model": "openai:b", "fallbacks": ["c"]}, "ChatModel\\('c'\\)"),
        ({"model": "openai:b", "max_retries": -1}, "max_retries=-1"),
        ({"model": "openai:b", "timeout": 0}, "timeout=0"),
        ({"model": "openai:b", "deadline": -1.0}, "deadline=-1.0"),
        ({"model": "openai:b", "tools": [lookup, lookup]}, "two are called 'lookup'"),
        ({"model": "openai:b", "tools": ["lookup"]}, "a function, what @tool made of one, or an MCPServer"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, message):
    with pytest.raises(AgentError, match=message):
        ChatModel(**arguments)


def test_the_client_of_a_provider_that_is_missing_is_said_with_its_extra(monkeypatch):
    model = ChatModel("test", fallbacks=["anthropic:claude-haiku-4-5"])
    model.check()
    monkeypatch.setattr("parkway.agents.chat_model.find_spec", lambda name: None)
    with pytest.raises(AgentError, match=r"needs anthropic: pip install 'parkway\[anthropic\]'"):
        model.check()
