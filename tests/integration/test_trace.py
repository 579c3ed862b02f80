"""A run as a tree, out of the topics and the journal of a running system."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from installation import Installation, event, wait_for


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from walk(child)


def child(node: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in node["children"] if one["name"] == name)


def test_a_run_is_a_tree_of_what_caused_what(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    here.router()
    for number in range(20):
        here.emit(event("question", f"other-{number}", rounds=1, number=number), key="k")
    here.emit(event("question", "q-1", rounds=2, number=7), key="k")
    here.emit(event("never", "dead-1"), key="k")
    here.flush()
    here.wait_read(here.topics.action("ask"), 21)
    waits = json.loads(here.command("trace", "q-1", "--json").out)
    assert not waits["over"]
    assert child(waits["root"], "ask")["state"] == "waiting"

    here.worker()
    said = here.command("trace", "q-1", "--key", "k", "--follow", "--json")  # it ends when the run does
    assert said.code == 0, said
    trace = json.loads(said.out)
    assert trace["over"]
    assert (trace["model_calls"], trace["tool_calls"]) == (3, 2)
    assert trace["tokens"]["promptTokens"] > 0
    root = trace["root"]
    chat = child(child(child(root, "ask"), "_chat_request_event"), "chat")
    assert [one["name"] for one in chat["children"]] == [
        "assistant",
        "_tool_request_event",
        "assistant",
        "_tool_request_event",
        "assistant",
        "_chat_response_event",
    ]
    tool = child(chat["children"][1], "tool")
    assert "_tool_response_event" in [one["name"] for one in tool["children"]]
    output = child(child(chat["children"][-1], "answer"), "_output_event")
    assert output["bytes"] > 0
    assert all(one["state"] == "done" for one in walk(root) if one["kind"] == "action")
    assert sum(one["name"] == "_output_event" for one in walk(root)) == 1  # nothing of the other runs

    # From within the run, as text; content only when it is asked for.
    request = chat["children"][1]["place"]
    lines = here.command("trace", request).out.splitlines()
    assert lines[0].startswith("q-1  question  [")
    assert any("model assistant" in line and "round 3" in line and "tokens" in line for line in lines)
    assert lines[-1].startswith("over after ")
    assert lines[-1].endswith(" tokens, 2 tool calls")
    assert "rounds for 7" not in "".join(lines)
    assert "2 rounds for 7" in here.command("trace", "q-1", "--content").out
    followed = here.command("trace", "q-1", "--follow").out.splitlines()
    assert len(followed) == len(lines)

    wait_for("the dead letter", lambda: here.read(here.topics.dlq))
    dead = json.loads(here.command("trace", "dead-1", "--json").out)
    assert [one["name"] for one in dead["root"]["children"]] == ["forbidden_type"]
    nothing = here.command("trace", "nobody", "--since", "1h")
    assert (nothing.code, nothing.out) == (1, "")
    assert here.command("trace", f"{here.topics.requests}/0/999999").code == 1
