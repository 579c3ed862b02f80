"""A small language of random expressions over a small world of events, for the property tests."""

import pytest
from hypothesis import strategies as st

from parkway.router.cel import TriggerEvaluationError, TriggerLoadError, compile_expression

VALUES = [None, True, False, 0, 1, 2, -7, 1.0, 0.5, 2**53 + 1, 2**63 - 1, 2**63, "", "a", "ab", "1", "é"]
VALUES += [[], [1], [True], ["a", 1.0, None], {}, {"a": 1}, {"a": {"b": "x"}}, {"b": True}]
CONSTANTS = ["null", "true", "false", "0", "1", "-7", "5u", "1.0", "0.5", "9223372036854775807", "''", "'a'"]
CONSTANTS += ["'1'", "[]", "[1, 'a']", "['a', 'ab']", "{'a': 1}", "{true: 1}", "b'a'"]
FIELDS = ["x", "y", "x.a", "y.a.b", "attributes.x", "y['b']", "x[0]", "type", "id"]

operands = st.sampled_from([*FIELDS, *CONSTANTS])
COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in"]


def _grow(smaller):
    return st.one_of(
        st.builds("({} {} {})".format, smaller, st.sampled_from(COMPARISONS), smaller),
        st.builds("({} {} {})".format, smaller, st.sampled_from(["&&", "||"]), smaller),
        st.builds("({} {} {})".format, smaller, st.sampled_from("+-*/%"), smaller),
        st.builds("({} ? {} : {})".format, smaller, smaller, smaller),
        st.builds("(!{})".format, smaller),
        st.builds("(-{})".format, smaller),
        st.builds("size({})".format, smaller),
        st.builds("string({})".format, smaller),
        st.builds("({}).{}({})".format, smaller, st.sampled_from(["contains", "startsWith", "matches"]), operands),
        st.builds("has({})".format, st.sampled_from(["x", "x.a", "y.a.b", "x[0].a", "type"])),
        st.builds("{}[{}]".format, st.sampled_from(["x", "y"]), smaller),
    )


expressions = st.recursive(operands, _grow, max_leaves=8)
events = st.builds(
    lambda event_type, attributes: {"id": "1", "type": event_type, "attributes": attributes},
    st.sampled_from(["a", "b", "order.created", "_input_event"]),
    st.dictionaries(st.sampled_from(["x", "y", "z"]), st.sampled_from(VALUES)),
)


@pytest.fixture(scope="session")
def random_expressions():
    return expressions


@pytest.fixture(scope="session")
def random_events():
    return events


@pytest.fixture(scope="session")
def ask():
    """`ask(expression, **attributes)` gives the result, or the string "error"."""

    def ask(text, event_type="probe", **attributes):
        try:
            expression = compile_expression(text)
        except TriggerLoadError as error:
            if "can never be boolean" not in error.reason:
                raise  # a mistake of the test
            return "error"
        try:
            return expression.evaluate({"id": "1", "type": event_type, "attributes": attributes})
        except TriggerEvaluationError:
            return "error"

    return ask


@pytest.fixture(scope="session")
def load_error():
    """`load_error(compile, text)` gives the TriggerLoadError."""

    def load_error(compile_it, text):
        with pytest.raises(TriggerLoadError) as caught:
            compile_it(text)
        return caught.value

    return load_error


@pytest.fixture(scope="session", autouse=True)
def _grammar_is_loaded():
    """Building the grammar takes a fifth of a second, once; it is no part of any time that is measured."""
    compile_expression("true")
