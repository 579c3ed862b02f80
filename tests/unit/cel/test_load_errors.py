"""A load error names the stage, the place and the way out."""

import pickle

import pytest

from parkway.router.cel import TriggerLoadError, compile_expression, compile_trigger

CASES = [
    ("x = 1", "syntax", "=", "write `==`"),
    ("a == 1 and b == 2", "syntax", "and", "write `&&`"),
    ("a == 1 && ", "syntax", None, "ends too early"),
    ("a == 'b", "syntax", "'b", "never closed"),
    ("(a == 1", "syntax", "(", "never closed"),
    ("a == 1)", "syntax", ")", "closes nothing"),
    ("a inb", "syntax", "inb", "unexpected `inb`"),
    ("x.in == 1", "syntax", "in", "keyword"),
    ("for == 1", "syntax", "for", "attributes.for"),
    ("a == 1. && b", "syntax", "1.", "write 1.0"),
    ("a == 9223372036854775808", "syntax", "9223372036854775808", "int64"),
    (r"a == '\x4'", "syntax", r"\x4", "r'...'"),
    (r"a == '\ud800'", "syntax", r"\ud800", "no escape"),
    ("a == '''x''''y'", "syntax", "'y'", "without an operator"),
    ("s.matches('(')", "syntax", "'('", "RE2"),
    ("type == EventType.InptEvent", "unknown-event-type", "InptEvent", "did you mean InputEvent?"),
    ("type == EventType.Xyzzy", "unknown-event-type", "Xyzzy", "known are ApprovalRequestEvent"),
    ("xs.exists(x, x == 'a')", "unsupported", "exists", "`'x' in list`"),
    ("xs.all(x, x > 1)", "unsupported", "all", "index"),
    ("xs.exists_one(x, x > 1)", "unsupported", "exists_one", "list"),
    ("xs.map(x, x + 1) == []", "unsupported", "map", "index"),
    ("xs.filter(x, x > 1) == []", "unsupported", "filter", "list"),
    ("Foo{a: 1} == x", "unsupported", "Foo", "write a map"),
    ("siez(x) == 1", "type", "siez", "did you mean size?"),
    ("x.size(1) == 1", "type", "size", "size(x)"),
    ("timestamp(x, y) == z", "type", "timestamp", "write timestamp(x)"),
    ("contains(x, 'a')", "type", "contains", "x.contains(y)"),
    ("x.int() == 1", "type", "int", "int(x)"),
    ("has(1)", "type", "has", "has(a.b)"),
    ("has(a['b'])", "type", "has", "'b' in"),
    ("42", "type", "42", "compare it"),
]


@pytest.mark.parametrize("compile_it", [compile_trigger, compile_expression])
@pytest.mark.parametrize(("text", "stage", "place", "way_out"), CASES)
def test_stage_place_and_way_out(compile_it, text, stage, place, way_out, load_error):
    error = load_error(compile_it, text)
    assert error.stage == stage
    assert way_out in error.reason
    if place is not None:
        assert text[error.position :].startswith(place)


def test_the_caret_stands_under_the_place(load_error):
    error = load_error(compile_trigger, "type == EventType.InptEvent && x > 1")
    assert str(error).splitlines()[1:] == ["  type == EventType.InptEvent && x > 1", "                    ^"]


def test_only_the_line_of_the_place_is_shown(load_error):
    error = load_error(compile_trigger, "a == 1 &&\nb = 2 &&\nc == 3")
    assert str(error).splitlines()[1:] == ["  b = 2 &&", "    ^"]


def test_a_long_line_is_cut_around_the_place(load_error):
    error = load_error(compile_trigger, "a == 1 && " * 100 + "b = 1" + " && c == 1" * 100)
    line, caret = str(error).splitlines()[1:]
    assert len(line) < 120
    assert line[caret.index("^")] == "="


def test_a_chain_of_a_hundred_and_one_additions_is_too_much(load_error):
    assert load_error(compile_expression, "+".join(["x"] * 150) + " == 1").stage == "limit"


def test_an_error_survives_pickling(load_error):
    error = load_error(compile_trigger, "x = 1")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, TriggerLoadError)
    assert (str(copy), copy.stage, copy.position) == (str(error), error.stage, error.position)


@pytest.mark.parametrize("text", ["nonsense(x) || true", "false && x.contains()", "true || s.matches('(')"])
def test_a_call_that_cannot_be_is_an_error_wherever_it_stands(text, load_error):
    load_error(compile_expression, text)
