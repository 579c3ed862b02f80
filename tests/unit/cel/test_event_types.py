"""Which event types can fire a trigger."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parkway.router.cel import TriggerEvaluationError, compile_expression, compile_trigger
from parkway.router.cel.event_types import possible_types


@pytest.mark.parametrize(
    ("entry", "types"),
    [
        ("order.created", {"order.created"}),
        ("type == 'a'", {"a"}),
        ("'a' == type && x > 1", {"a"}),
        ("x > 1 && (type == 'a' || type == 'b')", {"a", "b"}),
        ("type in ['a', 'b'] && type in ['b', 'c']", {"b"}),
        ("type in ['a', 1]", {"a"}),
        ("type in ['a', x]", None),
        ("type == 'a' || x > 1", None),
        ("!(type != 'a')", {"a"}),
        ("!(type != 'a' || x > 1)", {"a"}),
        ("type != 'a'", None),
        ("type == 'a' ? x > 1 : type == 'b'", {"a", "b"}),
        ("type == EventType.InputEvent", {"_input_event"}),
        ("type.startsWith('a')", None),
        ("x > 1", None),
        ("true", None),
        ("attributes.type == 'a'", None),
    ],
)
def test_the_types(entry, types):
    found = compile_trigger(entry).event_types
    assert found == (None if types is None else frozenset(types))


conditions = st.recursive(
    st.sampled_from(
        ["type == 'a'", "'b' == type", "type != 'a'", "type in ['a', 'b']", "x == 1", "x", "true", "false"]
    ),
    lambda smaller: st.one_of(
        st.builds("({} && {})".format, smaller, smaller),
        st.builds("({} || {})".format, smaller, smaller),
        st.builds("({} ? {} : {})".format, smaller, smaller, smaller),
        st.builds("!({})".format, smaller),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(conditions, st.sampled_from(["a", "b", "c"]), st.sampled_from([{}, {"x": 1}, {"x": True}, {"x": False}]))
def test_no_type_is_forgotten(text, event_type, attributes):
    expression = compile_expression(text)
    try:
        result = expression.evaluate({"id": "1", "type": event_type, "attributes": attributes})
    except TriggerEvaluationError:
        return
    types = possible_types(expression.tree, result=result)
    assert types is None or event_type in types
