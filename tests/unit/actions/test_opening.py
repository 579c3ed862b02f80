"""Models are opened when a worker starts: what one lacks is said then, not at the first request."""

from typing import Any

import pytest
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.test import TestModel
from structlog.testing import capture_logs

from parkway.agents import ChatModel, DecisionModel
from parkway.agents.chat_model import ModelSource
from parkway.agents.errors import AgentError
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.decision import DecisionAction
from parkway.workers.actions.opening import open_models

VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "SYSTEM_ONE_BASE_URL")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


async def opened(*sources: ModelSource) -> list[Any]:
    """Open a ChatModel of these; the warnings."""
    model, *fallbacks = sources
    with capture_logs() as logs:
        await open_models(ChatAction({"assistant": ChatModel(model, fallbacks=fallbacks)}))
    return logs


def made_by_hand() -> Model:
    return infer_model("openai:gpt-5-mini")


def broken() -> Model:
    raise LookupError("no such shelf")


@pytest.mark.parametrize("source", ["openai:gpt-5-mini", made_by_hand])
async def test_a_missing_key_is_said_with_the_model_the_variable_and_the_way_out(source: ModelSource) -> None:
    with pytest.raises(AgentError) as said:
        await opened(source)
    text = str(said.value)
    assert "chat model 'assistant' cannot be opened" in text
    assert ("openai:gpt-5-mini" if isinstance(source, str) else "made_by_hand") in text
    assert "Set the `OPENAI_API_KEY` environment variable" in text
    assert "--action" in text
    assert "Agent('test')" not in text  # pydantic-ai's way out is none here


async def test_of_a_model_and_its_fallbacks_one_is_enough_and_the_others_are_warned_of() -> None:
    (warning,) = await opened("test", "anthropic:claude-haiku-4-5")
    assert (warning["event"], warning["log_level"], warning["model"]) == ("model_not_opened", "warning", "assistant")
    assert "ANTHROPIC_API_KEY" in warning["reason"]
    assert warning["consequence"] == "only test is asked"
    (warning,) = await opened("openai:gpt-5-mini", "test")
    assert "OPENAI_API_KEY" in warning["reason"]
    with pytest.raises(AgentError, match=r"OPENAI_API_KEY.*; anthropic:claude-haiku-4-5: .*ANTHROPIC_API_KEY"):
        await opened("openai:gpt-5-mini", "anthropic:claude-haiku-4-5")


async def test_what_can_be_opened_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await opened("test") == []
    assert await opened(TestModel()) == []
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")  # a server of one's own wants no key
    assert await opened("openai:gpt-5-mini") == []
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-anything")
    assert await opened("openai:gpt-5-mini") == []


@pytest.mark.parametrize(("name", "model"), [("OPENAI", "openai:gpt-5-mini"), ("ANTHROPIC", "anthropic:claude-x")])
async def test_a_variable_that_is_set_to_nothing_holds_no_key(
    monkeypatch: pytest.MonkeyPatch, name: str, model: str
) -> None:
    monkeypatch.setenv(f"{name}_API_KEY", "")  # as deploy/compose does
    with pytest.raises(AgentError, match=f"{model}: .*{name}_API_KEY"):
        await opened(model)


async def test_a_function_is_called_once_and_what_it_raises_is_said() -> None:
    calls: list[int] = []

    def counted() -> Model:
        calls.append(1)
        return TestModel()

    action = ChatAction({"assistant": ChatModel(counted)})
    await open_models(action)
    await open_models(action)
    assert calls == [1]
    with pytest.raises(AgentError, match="broken: LookupError: no such shelf"):
        await opened(broken)


@pytest.mark.parametrize(
    ("model", "variable"), [("system_one:jev-1.14", "SYSTEM_ONE_BASE_URL"), ("openai_decisions:x", "OPENAI_API_KEY")]
)
async def test_decision_models_are_opened_too(model: str, variable: str) -> None:
    with pytest.raises(AgentError, match=f"decision model 'judge' cannot be opened: .*{variable}"):
        await open_models(DecisionAction({"judge": DecisionModel(model)}))


async def test_rules_and_functions_need_nothing() -> None:
    def decide(state: Any) -> dict[str, bool]:
        return {"spam": False}

    with capture_logs() as logs:
        await open_models(DecisionAction({"judge": DecisionModel.of(decide)}))
    assert logs == []
    with capture_logs() as logs:
        both = DecisionModel("openai_decisions:x", fallbacks=[DecisionModel.of(decide)])
        await open_models(DecisionAction({"judge": both}))
    assert logs[0]["consequence"] == "only decide is asked"
