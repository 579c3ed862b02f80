"""What actions tell of their calls, as records of `<ns>.journal`: whose they are, and what of the content stands there."""

import time
from typing import Any

import pytest
from worker_harness import CODEC, PLAN, SETTINGS, TOPICS, Harness, ask, parks, to

from parkway.agents import Agent, AgentError, ChatModel
from parkway.runtime.settings import Settings
from parkway.schemas.events import ToolRequestEvent
from parkway.schemas.journal import JournalRecord
from parkway.workers.actions.chat import ChatAction
from parkway.workers.actions.tool import ToolAction
from parkway.workers.effects import Effects, JournalEntry
from parkway.workers.journal import Journal
from parkway.workers.results import ResultBuilder

NOW = int(time.time() * 1000)


class Support(Agent):
    assistant = ChatModel("test")


class Discreet(Support):
    def redact(self, kind: str, content: Any) -> Any:
        if content == "bug":
            raise KeyError(content)
        return {"kind": kind, "length": len(content["prompt"])}


def entry(**changes: Any) -> JournalEntry:
    given = {"content": {"prompt": "secret"}, "usage": {"promptTokens": 3}, **changes}
    return JournalEntry("model_call", "assistant", NOW, NOW + 5, "success", **given)


def written(chat: Harness, effects: Effects, **headers: str) -> JournalRecord:
    work = chat.take(ask(), **headers)
    chat.decide(work)
    (record,) = to(chat.finish(work, effects), TOPICS.journal)
    assert (record.partition, record.key) == (0, b"key")
    return JournalRecord.from_json(record.value or b"")


def test_a_call_stands_in_the_journal_in_the_name_of_its_request() -> None:
    effects = parks()
    effects.journal.append(entry(round=2, attempt=3, model="gpt"))
    record = written(Harness(ChatAction({})), effects, root_id="root")
    assert (record.root_id, record.request_id, record.action, record.build) == ("root", "r", "chat", PLAN.build)
    assert (record.round, record.attempt, record.model, record.usage) == (2, 3, "gpt", {"promptTokens": 3})
    assert (record.content_kept, record.content) == ("none", None)


def test_a_tool_call_of_a_chat_belongs_to_the_chat() -> None:
    tools = Harness(ToolAction({}))
    work = tools.take(ToolRequestEvent(model="m", tool_calls=[]), parent="r/chat", root_id="root")
    tools.decide(work)
    effects = Effects(journal=[JournalEntry("tool_call", "add", NOW, NOW, "failed", call_id="c")])
    (record,) = to(tools.finish(work, effects), TOPICS.journal)
    assert JournalRecord.from_json(record.value or b"").request_id == "r"


def journal(agent: Agent, **settings: Any) -> Harness:
    chat = Harness(ChatAction({}))
    planned = PLAN.actions[0]
    made = Journal.of(Settings(namespace="ns", **settings), PLAN, planned, agent)
    chat.builder = ResultBuilder(SETTINGS, PLAN, chat.action, CODEC, made)
    return chat


@pytest.mark.parametrize("settings", [{"journal_content": "full"}, {"capture_content": True}])
def test_content_is_kept_on_demand(settings: dict[str, Any]) -> None:
    record = written(journal(Support(), **settings), Effects(journal=[entry()]))
    assert (record.content_kept, record.content) == ("full", {"prompt": "secret"})


def test_the_agent_says_what_may_stand_there() -> None:
    chat = journal(Discreet(), journal_content="redacted", capture_content=True)
    record = written(chat, Effects(journal=[entry()]))
    assert (record.content_kept, record.content) == ("redacted", {"kind": "model_call", "length": 6})


class Exiting(Agent):
    def redact(self, kind: str, content: Any) -> Any:
        raise SystemExit(3)


def test_a_redaction_that_exits_ends_no_worker() -> None:
    """The records of a sweep are made outside of any handler."""
    record = written(journal(Exiting(), journal_content="redacted"), Effects(journal=[entry()]))
    assert (record.content_kept, record.content) == ("none", {"left_out": "redact failed"})


def test_a_redaction_that_raises_keeps_nothing() -> None:
    record = written(journal(Discreet(), journal_content="redacted"), Effects(journal=[entry(content="bug")]))
    assert (record.content_kept, record.content) == ("none", {"left_out": "redact failed"})


def test_redacted_needs_an_agent_that_redacts() -> None:
    with pytest.raises(AgentError, match="write def redact"):
        journal(Support(), journal_content="redacted")


def test_content_that_is_too_large_or_no_json_is_left_out() -> None:
    chat = journal(Support(), journal_content="full")
    assert "600,0" in written(chat, Effects(journal=[entry(content="x" * 600_000)])).content["left_out"]
    other = journal(Support(), journal_content="full")
    assert "content" in written(other, Effects(journal=[entry(content=object())])).content["left_out"]
