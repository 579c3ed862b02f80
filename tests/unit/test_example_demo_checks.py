"""The demo's own check: it must see a missing, a doubled, a wrong and a left-over record, or it proves nothing."""

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.github_triage.demo.expected import Expected
from examples.github_triage.demo.readback import Found, problems


@pytest.fixture
def expected():
    return Expected(
        routed=Counter({("i-1", "triage-issue"): 1, ("i-1", "chat"): 1, ("r-1", "announce-release"): 1}),
        chats={"i-1"},
        outputs=Counter({("i-1", "issue-triaged"): 1, ("r-1", "announce-release"): 1}),
    )


@pytest.fixture
def found(expected):
    found = Found(routed=expected.routed.copy(), outputs=expected.outputs.copy())
    found.chats["i-1"].append("c1")
    found.answers["i-1"].append("c1")
    found.tool_rounds["i-1"] = 2
    found.routed["i-1", "tool"] = 2
    return found


def lines(expected, found, *, failures_allowed=False):
    return list(problems(expected, found, failures_allowed=failures_allowed))


def test_nothing_is_wrong(expected, found):
    assert lines(expected, found) == []


def lose_an_answer(found):
    found.answers.clear()


def double_an_answer(found):
    found.answers["i-1"].append("c1")


def answer_something_else(found):
    found.answers["i-1"] = ["c2"]


def double_a_request(found):
    found.chats["i-1"].append("c2")
    found.answers["i-1"].append("c2")


def lose_an_output(found):
    del found.outputs["i-1", "issue-triaged"]


def double_an_output(found):
    found.outputs["i-1", "issue-triaged"] += 1


def put_out_what_nobody_expects(found):
    found.outputs["i-1", "stranger"] += 1


def route_twice(found):
    found.routed["i-1", "chat"] += 1


def lose_a_tool_request(found):
    found.routed["i-1", "tool"] -= 1


def fail_a_chat(found):
    found.failed.append("i-1")


def leave_one_parked(found):
    found.parked.add("i-1/chat")


def leave_a_dead_letter(found):
    found.dead.append("i-1: no")


@pytest.mark.parametrize(
    "spoil",
    [
        lose_an_answer,
        double_an_answer,
        answer_something_else,
        double_a_request,
        lose_an_output,
        double_an_output,
        put_out_what_nobody_expects,
        route_twice,
        lose_a_tool_request,
        fail_a_chat,
        leave_one_parked,
        leave_a_dead_letter,
    ],
)
def test_one_line_names_what_is_wrong(expected, found, spoil):
    spoil(found)
    (line,) = lines(expected, found)
    assert "i-1" in line


def test_a_chat_that_nobody_expects(expected, found):
    found.answers["x-1"].append("c9")
    (line,) = lines(expected, found)
    assert "x-1" in line


def test_a_real_model_may_fail(expected, found):
    fail_a_chat(found)
    assert lines(expected, found, failures_allowed=True) == []
