"""An entry is an event type name or an expression (DESIGN 5.1)."""

import pytest

from parkway.router.cel import compile_trigger
from parkway.schemas.event_types import EventType


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("order.created", "order.created"),
        ("  order.created\n", "order.created"),
        ("_input_event", "_input_event"),
        ("order-v2.item_added", "order-v2.item_added"),
        ("'com.example/order:1'", "com.example/order:1"),
        ('"é"', "é"),
        ("trueish", "trueish"),
        ("EventTypes", "EventTypes"),
        (EventType.InputEvent, "_input_event"),
        ("'EventType.InputEvent'", "EventType.InputEvent"),
        ("'true'", "true"),
        ("attributes.flag", "attributes.flag"),
    ],
)
def test_a_type_name_matches_exactly(entry, name):
    trigger = compile_trigger(entry)
    assert (trigger.kind, trigger.event_types) == ("event-type", frozenset({name}))
    assert trigger.evaluate({"id": "1", "type": name, "attributes": {}}) is True
    assert trigger.evaluate({"id": "1", "type": name + "x", "attributes": {}}) is False


@pytest.mark.parametrize("entry", ["true", "false", "x == 1", "a-b == 1", "'a' == 'b'", "!flag", "attributes['flag']"])
def test_everything_else_is_an_expression(entry):
    assert compile_trigger(entry).kind == "expression"


@pytest.mark.parametrize("entry", ["(flag)", "((flag))", "(a.b.c)", "(attributes.flag)", ".flag"])
def test_a_bare_path_is_refused(entry, load_error):
    error = load_error(compile_trigger, entry)
    assert error.stage == "type"
    assert "== true" in str(error)


def test_an_indexed_attribute_loads_and_must_be_boolean():
    trigger = compile_trigger("attributes['flag']")
    assert trigger.evaluate({"id": "1", "type": "t", "attributes": {"flag": True}}) is True
    with pytest.raises(ValueError, match="string is no boolean"):
        trigger.evaluate({"id": "1", "type": "t", "attributes": {"flag": "yes"}})


@pytest.mark.parametrize("entry", ["", "  \n", None, 5, b"x", ["x"]])
def test_blank_and_other_entries_are_refused(entry, load_error):
    assert load_error(compile_trigger, entry).stage == "syntax"


@pytest.mark.parametrize(
    "entry", ["a / b", "size(x)", "42", "null", "'a b'", "''", "x ? 1 : 'a'", "-x", "1 + 'a'", "!5"]
)
def test_what_can_never_be_boolean_is_refused(entry, load_error):
    error = load_error(compile_trigger, entry)
    assert error.stage == "type"
    assert "can never be boolean" in str(error)


@pytest.mark.parametrize(
    "entry",
    [
        "_output_event",
        EventType.OutputEvent,
        "type == EventType.OutputEvent",
        "type in ['_output_event'] && x == 1",
        "type == '_output_event' ? true : false && type == '_output_event'",
    ],
)
def test_output_events_trigger_nothing(entry, load_error):
    error = load_error(compile_trigger, entry)
    assert error.stage == "type"
    assert "output events" in str(error)


def test_a_trigger_that_no_type_can_fire_is_refused(load_error):
    assert load_error(compile_trigger, "type == 'a' && type == 'b'").stage == "type"


def test_the_constant_alone_is_no_condition(load_error):
    error = load_error(compile_trigger, "EventType.InputEvent")
    assert error.stage == "type"
    assert "`type == EventType.InputEvent`" in str(error)
