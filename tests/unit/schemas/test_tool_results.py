"""Reading a tool response (DESIGN 4.3)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkway.schemas.events import Event, ToolResponseEvent, ToolResult

TEXT = "Tool `f` execute failed."


def read(**attributes: Any) -> ToolResponseEvent:
    body = {"type": "_tool_response_event", "attributes": {"request_id": "r", **attributes}}
    event = Event.parse(body)
    assert isinstance(event, ToolResponseEvent)
    assert event.attributes == body["attributes"]  # whatever it is, it is left as it is
    return event


def test_exactly_false_is_a_failure_with_the_response_as_text():
    event = read(responses={"a": TEXT, "b": 1}, success={"a": False, "b": True}, error={"a": "boom"})
    assert event.results() == {
        "a": ToolResult(success=False, value=TEXT, error=TEXT, diagnostic="boom"),
        "b": ToolResult(success=True, value=1),
    }


@pytest.mark.parametrize("flag", [True, None, 0, 0.0, "", "false", "False", [], {}, 1])
def test_any_other_flag_is_a_success(flag):
    event = read(responses={"a": "value"}, success={"a": flag})
    assert event.results() == {"a": ToolResult(success=True, value="value")}


@pytest.mark.parametrize("success", [None, [], ["a"], "x", "", 0, 1, False, True, 1.5, [False]])
def test_success_that_is_no_map_counts_as_empty_and_is_left(success):
    event = read(responses={"a": "value"}, success=success)
    assert event.results() == {"a": ToolResult(success=True, value="value")}
    assert event.success == success
    assert type(event.success) is type(success)


@pytest.mark.parametrize("error", [None, [], "boom", 1])
def test_error_that_is_no_map_counts_as_empty_and_is_left(error):
    event = read(responses={"a": TEXT}, success={"a": False}, error=error)
    assert event.results() == {"a": ToolResult(success=False, value=TEXT, error=TEXT)}


def test_absent_success_and_error_are_successes():
    event = read(responses={"a": None, "b": 0})
    assert event.results() == {
        "a": ToolResult(success=True, value=None),
        "b": ToolResult(success=True, value=0),
    }


def test_map_is_kept_as_a_map():
    java = {"result": "pong", "success": True, "error": None, "execution_time_ms": 0, "tool_name": None}
    event = read(responses={"a": java}, success={"a": True})
    assert event.results()["a"] == ToolResult(success=True, value=java)


@pytest.mark.parametrize(("value", "text"), [({"why": ["x"]}, '{"why":["x"]}'), (5, "5"), (False, "false"), ("", "")])
def test_failed_value_that_is_no_text_becomes_its_json(value, text):
    event = read(responses={"a": value}, success={"a": False})
    assert event.results()["a"] == ToolResult(success=False, value=value, error=text)


def test_failure_without_a_response_is_reported():
    event = read(responses={"a": None}, success={"a": False, "b": False, "c": True}, error={"b": {"code": 1}})
    assert event.results() == {
        "a": ToolResult(success=False, value=None, error="the call failed"),
        "b": ToolResult(success=False, value=None, error='{"code":1}', diagnostic='{"code":1}'),
    }


def test_diagnostic_of_a_success_is_there():
    event = read(responses={"a": 1}, success={"a": True}, error={"a": "slow"})
    assert event.results()["a"] == ToolResult(success=True, value=1, diagnostic="slow")


def test_printing_works_with_and_without_a_timestamp():
    assert "ToolResponseEvent" in str(read(responses={}))
    assert "ToolResponseEvent" in str(read(responses={}, timestamp=1_700_000_000_000))


def test_new_response_without_success_writes_successes():
    assert ToolResponseEvent(request_id="r", responses={"a": 1}).success == {"a": True}
    given_flags = ToolResponseEvent(request_id="r", responses={"a": 1, "b": 2}, success={"a": False})
    assert given_flags.success == {"a": False}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=2), json_values, max_size=4), json_values, json_values)
def test_results_never_raise_and_answer_every_response(responses, success, error):
    event = read(responses=responses, success=success, error=error)
    results = event.results()
    assert responses.keys() <= results.keys()
    for call_id, value in responses.items():
        failed = isinstance(success, dict) and success.get(call_id) is False
        assert results[call_id].success is not failed
        assert results[call_id].value == value
        assert (results[call_id].error is not None) == failed
