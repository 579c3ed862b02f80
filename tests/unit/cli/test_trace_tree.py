"""The tree of a run, out of records as they stand in the topics."""

from typing import Any

from parkway.cli.sightings import Sighting
from parkway.cli.trace_read import Root, Run
from parkway.cli.trace_tree import Node, Trace, build
from parkway.schemas.topics import Topics


def record(topic: str, offset: int, type_: str, id_: str, upstream: str = "", sender: str = "", **attributes: Any):
    at = 1000 + offset
    return Sighting(f"parkway.{topic}", 0, offset, at, type_, id_, attributes, {}, upstream or None, sender or None, 10)


def tree(*records: Sighting) -> Trace:
    run = Run(Root("r", 0, 1000, records[0].place), list(records))
    return build(run, Topics("parkway"), lambda _: "done", content=False)


def child(node: Node, *names: str) -> Node:
    for name in names:
        node = next(one for one in node.children if one.name == name)
    return node


def test_a_tool_request_of_an_agent_with_approvals_comes_by_the_resume_topic_and_its_end_by_an_answer_from_outside():
    calls = [{"id": "c", "function": {"name": "refund", "arguments": {"amount": 5}}}]
    trace = tree(
        record("requests", 0, "_chat_request_event", "r", model="cashier"),
        record("action.chat", 1, "_chat_request_event", "r", model="cashier"),
        record("events", 2, "_tool_request_event", "t", "r", "chat", tool_calls=calls),
        record("resume.tool", 3, "_tool_request_event", "t", "r", "chat", tool_calls=calls),
        record("events", 4, "_approval_request_event", "a", "t", "tool", request_id="t"),
        record("events", 5, "_tool_response_event", "x", "answer of another run", "tool", request_id="t"),
    )
    tool = child(trace.root, "chat", "_tool_request_event", "tool")
    assert [one.name for one in tool.children] == ["_approval_request_event", "_tool_response_event"]
    assert [one.name for one in trace.root.children] == ["chat"]
    assert trace.tool_calls == 1
    assert child(trace.root, "chat", "_tool_request_event").text == "_tool_request_event refund(…)"
