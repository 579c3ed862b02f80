"""Chats with prompts, routers, budgets and a journal, on a real Kafka."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from installation import Installation, event, wait_for


def test_a_react_agent_answers_each_input_once(install: Callable[..., Installation]) -> None:
    here = install("chat_agents:react")
    here.router()
    here.worker("w0")
    for number in range(5):
        here.emit(event("_input_event", f"i-{number}", input={"a": number, "b": 1}), key=f"k{number}")
    here.emit(event("_input_event", "i-bad", input={"a": 1}), key="bad")
    here.flush()
    outputs = here.wait_read(here.topics.outputs, 5)
    assert sorted(one.json["attributes"]["output"]["result"] for one in outputs) == [1, 2, 3, 4, 5]
    (dead,) = here.wait_read(here.topics.dlq, 1)
    assert json.loads(dead.value or b"")["attributes"]["error"]["type"] == "bad_request"
    assert "'b'" in json.loads(dead.value or b"")["attributes"]["error"]["message"]
    here.wait_all_done()
    assert here.parked() == {}
    calls = [one.json for one in here.read(here.topics.journal) if one.json["kind"] == "model_call"]
    assert len(calls) == 10
    assert Counter((call["name"], call["round"], call["attempt"]) for call in calls) == {
        ("assistant", 1, 1): 5,
        ("assistant", 2, 1): 5,
    }
    assert {call["outcome"] for call in calls} == {"success"}
    assert {call["root_id"] for call in calls} == {f"i-{number}" for number in range(5)}
    assert {call["content_kept"] for call in calls} == {"none"}
    assert sum(call["usage"]["promptTokens"] for call in calls) == 100


def chat(request_id: str, **more: Any) -> dict[str, Any]:
    attributes = {"model": "assistant", "messages": [], "prompt_args": {"a": 1, "b": 2}}
    return event("_chat_request_event", request_id, **attributes, **more)


def test_a_routers_choice_and_a_budget_outlive_the_worker(install: Callable[..., Installation]) -> None:
    here = install("chat_agents:Desk")
    here.router()
    workers = [here.worker("w0", "chat"), here.worker("w1", "tool", TEST_TOOL_SECONDS="60")]
    here.emit(chat("r-small"), key="small")
    here.emit(chat("r-free", user_context={"tier": "free"}), key="free")
    here.flush()
    wait_for("both chats to be parked", lambda: len(here.parked()) == 2)
    for worker in workers:
        worker.kill()
        worker.wait()
    here.worker("w2")
    answers = {one.json["attributes"]["request_id"]: one.json for one in here.wait_read(here.topics.outputs, 2)}
    small, free = (answers[name]["attributes"] for name in ("r-small", "r-free"))
    assert small["response"]["content"] == '{"result": 3.0}'
    assert small["response"]["extra_args"] == {
        "model": "small",
        "model_name": "small-1",
        "promptTokens": 20,
        "completionTokens": 6,
    }
    assert free["error"]["type"] == "budget_exceeded"
    assert "request_limit of 1" in free["error"]["message"]
    assert free["error"]["usage"] == {"promptTokens": 10, "completionTokens": 3}
    assert free["user_context"] == {"tier": "free"}
    here.wait_all_done()
    assert here.parked() == {}
