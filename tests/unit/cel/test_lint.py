"""What loads and is doubtful, and that lint's proofs hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parkway.router.cel import TriggerEvaluationError, TriggerLoadError, compile_expression, compile_trigger
from parkway.router.cel.implication import implies, never_true
from parkway.router.cel.lint import lint, lint_action, lint_trigger
from parkway.router.cel.parse import parse


@pytest.mark.parametrize(
    ("entry", "warnings"),
    [
        ("order.created", []),
        ("type == 'order.created' && amount > 100 && has(customer) && customer != ''", []),
        (r"name.matches('^o_\d+$')", [r"`\d` keeps its backslash"]),
        ("x > 1 || x == 'a'", ["`x` is compared with a number (`x > 1`) and with a string (`x == 'a'`)"]),
        ("x in [1, 'a']", ["`x` is compared with a number"]),
        ("a.b == true && a.b.startsWith('t')", ["`a.b` is compared with a boolean"]),
        ("x == null || x == 'a'", []),
        ("1u == x || x > 1.5", []),
        ("type == 'a' && x == 1 || type == 'b' && x == 'n'", []),
        ("x == 1 && x == 2", ["it can never be true"]),
        ("x > 5 && x < 3", ["it can never be true"]),
        ("x >= 5 && x < 5", ["it can never be true"]),
        ("x >= 5 && x <= 5", []),
        ("!has(x) && x == 1", ["it can never be true"]),
        ("(a == 1) && !(a == 1)", ["it can never be true"]),
        ("x in ['a', 'b'] && x != 'a' && x in ['a', 'c']", []),
        ("x == 1 || x in [1, 2]", ["`x == 1` adds nothing: `x in [1, 2]` holds whenever it does"]),
        ("x == 1 || (x == 1 && y == 2)", ["`x == 1 && y == 2` adds nothing"]),
        ("x > 5 || x > 3 && x != 4", ["`x > 5` adds nothing"]),
        ("x > 1 || x > 1", ["`x > 1` adds nothing: `x > 1`"]),
        ("has(x) || x == 1", ["`x == 1` adds nothing"]),
        ("type == 'a' && (type == 'b' || x == 1)", ["the alternative `type == 'b'` can never be true here"]),
        ("x == 1 || y == 1 && false", ["the alternative `y == 1 && false` can never be true here"]),
        ("true ? x == 1 : y == 1", ["`y == 1` is never reached"]),
        ("x == 1 || y == 1", []),
    ],
)
def test_a_trigger_alone(entry, warnings):
    found = lint_trigger(compile_trigger(entry))
    assert len(found) == len(warnings)
    assert all(map(str.startswith, found, warnings)), found


@pytest.mark.parametrize(
    ("entries", "needless"),
    [
        (["a", "b", "type == 'c' && x == 1"], []),
        (["a", "type == 'a' && x == 1"], [1]),
        (["type == 'a' && x == 1", "a"], [0]),
        (["a", "type in ['a', 'b']"], [0]),
        (["a", "a"], [1]),
        (["x > 10", "x >= 10"], [0]),
        (["x > 10", "x > '10'"], []),
        (["x == 1 && y == 2 && z == 3", "z == 3 && x in [1, 2]"], [0]),
    ],
)
def test_triggers_of_one_action(entries, needless):
    assert [number for number, _ in lint_action([compile_trigger(entry) for entry in entries])] == needless


def test_a_plans_warnings_name_action_and_trigger():
    assert lint([("triage", ["a", "type == 'a' && x == 1"]), ("other", ["a"])]) == [
        "action 'triage': trigger `type == 'a' && x == 1`: it is not needed: `a` of the same action fires whenever it does"
    ]


FIELDS = st.sampled_from(["x", "x.y", "type"])
CONSTANTS = st.sampled_from(["1", "2", "2.0", "true", "'a'", "'b'", "null"])
ATOMS = st.one_of(
    st.builds("{} {} {}".format, FIELDS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), CONSTANTS),
    st.builds("{1} {2} {0}".format, FIELDS, CONSTANTS, st.sampled_from(["==", "<", ">="])),
    st.builds("{} in [{}, {}]".format, FIELDS, CONSTANTS, CONSTANTS),
    st.sampled_from(["has(x)", "!has(x)", "has(x.y)", "x.startsWith('a')", "true", "false"]),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda smaller: st.one_of(
        st.builds("({} && {})".format, smaller, smaller),
        st.builds("({} || {})".format, smaller, smaller),
        st.builds("!({})".format, smaller),
        st.builds("({} ? {} : {})".format, smaller, smaller, smaller),
    ),
    max_leaves=5,
)
WORLD = [
    {"id": "1", "type": event_type, "attributes": attributes}
    for event_type in ("a", "b", "c")
    for attributes in [{}, *({"x": x} for x in (0, 1, 2, 1.5, 3, True, None, "a", "ab", "b", [], {}))]
    + [{"x": {"y": y}} for y in (1, 2, False, None, "a", "b")]
]


def true_for(text):
    """For each event of the world whether the expression is true; None if it does not load."""
    try:
        expression = compile_expression(text)
    except TriggerLoadError:
        return None

    def fires(event):
        try:
            return expression.evaluate(event)
        except TriggerEvaluationError:
            return False

    return [fires(event) for event in WORLD]


def test_what_is_proved_of_two_comparisons_holds():
    """All pairs, so that a proof of each kind is among them."""
    operators = ["==", "!=", "<", "<=", ">", ">="]
    texts = [f"x {operator} {constant}" for operator in operators for constant in ("1", "2.0", "'a'", "true", "null")]
    texts += ["x in [1, 2]", "x in [2.0, 'a', true]", "x in []", "has(x)", "!has(x)", "x.startsWith('a')"]
    known = {text: true_for(text) for text in texts if true_for(text) is not None}
    proved = 0
    for one, first in known.items():
        for other, second in known.items():
            if implies(parse(one)[0], parse(other)[0]):
                proved += 1
                assert all(b for a, b in zip(first, second, strict=True) if a), (one, other)
            if never_true(parse(f"{one} && {other}")[0]):
                proved += 1
                assert not any(a and b for a, b in zip(first, second, strict=True)), (one, other)
    assert proved > 300


@settings(max_examples=150, deadline=None)
@given(CONDITIONS, CONDITIONS)
def test_what_is_proved_holds(one, other):
    first, second = true_for(one), true_for(other)
    if first is None or second is None:
        return
    if implies(parse(one)[0], parse(other)[0]):
        assert all(b for a, b in zip(first, second, strict=True) if a)
    if never_true(parse(one)[0]):
        assert not any(first)


def test_it_takes_no_time_to_speak_of():
    entry = " || ".join(f"(x == {i} && y in ['a', 'b{i}'])" for i in range(200))
    assert lint_trigger(compile_trigger(entry)) == []
    assert lint_action([compile_trigger(entry), compile_trigger(f"{entry} || true")]) == []
