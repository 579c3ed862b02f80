"""A run as a tree, out of the topics and the journal of a running system."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from installation import Installation, event, wait_for

from parkway.schemas.plan import SourcePlan


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


def test_a_run_may_begin_in_a_topic_of_somebody_elses(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders")
    topic = f"{here.settings.namespace}.shop"
    here.create_topic(topic, 5)
    here.apply(here.plan.model_copy(update={"sources": (SourcePlan(topic=topic, type="step"),)}).with_build())
    assert here.command("plan", "apply", str(here.plan_file), "--yes").code == 0
    here.router()
    here.worker("w0", "step")
    here.emit(b'{"number": 1}', topic=topic, partition=4)
    here.flush()
    root_id = here.wait_read(here.topics.outputs, 1)[0].headers["parkway-root-id"].decode()
    for wanted in (root_id, f"{topic}/4/0"):
        said = here.command("trace", wanted, "--follow", "--json")
        assert said.code == 0, said
        root = json.loads(said.out)["root"]
        assert (root["place"], root["text"]) == (f"{topic}/4/0", f"{root_id}  {topic}")
        assert child(child(root, "step"), "_output_event")["bytes"] > 0
    shown = json.loads(here.command("request", "show", root_id, "--json").out)
    assert shown["state"] == "handled"


def test_a_stranger_joins_no_run_and_breaks_no_trace(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats")
    here.router()
    here.emit(event("question", "mine", rounds=1, number=1), partition=0)
    here.flush()
    (mine,) = here.wait_read(here.topics.requests, 1)
    forged = {"parkway-root": f"{mine.topic}:0:{mine.offset}:1", "parkway-root-id": "mine"}
    evil = "\x1b[2J\x1b]0;pwned\x07\nover after 1 ms"
    here.emit(event("question", "theirs", rounds=1, number=2), partition=0, headers=forged)
    here.emit(event("question", "odd", rounds=1), partition=0, headers={"parkway-root": "x:0:0:²"})
    here.emit(event("_chat_request_event", "shapeless", model=evil, messages="abc"), partition=0)
    here.emit(event(evil, "dead"), partition=0, headers=forged)
    here.flush()
    here.wait_read(here.topics.dlq, 1)

    assert "theirs" not in here.command("trace", "mine", "--content", "--partition", "0").out
    assert here.command("trace", "theirs", "--json").out.count(mine.topic) == 1
    assert here.command("trace", "odd").out.startswith("odd  question")
    for wanted in ("shapeless", "dead"):
        said = here.command("trace", wanted, "--content")
        assert said.code == 0
        assert said.out.splitlines()[0].startswith(wanted)
        assert said.out.replace("\n", "").isprintable()
    assert here.command("request", "show", "dead").out.replace("\n", "").isprintable()
