"""`has` is never an error: false wherever a step is missing or is no map."""

import pytest


@pytest.mark.parametrize("a", [None, True, 5, 1.5, "b", "", ["b"], [], {}, {"B": 1}])
def test_no_field_is_false(a, ask):
    assert ask("has(a.b)", a=a) is False
    assert ask("has(a.b.c)", a=a) is False
    assert ask("has(a['b'].c)", a=a) is False
    assert ask("has(a[0].c)", a=a) is False
    assert ask("!has(a.b)", a=a) is True


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}])
def test_a_field_is_there_whatever_its_value(value, ask):
    assert ask("has(a)", a=value) is True
    assert ask("has(attributes.a)", a=value) is True
    assert ask("has(a.b)", a={"b": value}) is True
    assert ask("has(a[0].b)", a=[{"b": value}]) is True


def test_a_missing_name_is_false(ask):
    assert ask("has(a)") is False
    assert ask("has(a.b.c.d)") is False
    assert ask("has(attributes.a.b)") is False


def test_the_parts_of_the_event_are_there(ask):
    assert ask("has(id) && has(type) && has(attributes)") is True
    assert ask("has(type.x) || has(id.x)") is False
    assert ask("has(attributes.type)") is False
    assert ask("has(attributes.type)", type=1) is True


def test_an_error_inside_is_false(ask):
    assert ask("has(a[1 / 0].b)", a=[{"b": 1}]) is False
    assert ask("has((a || true).b)", a=5) is False


def test_a_map_literal_has_its_keys(ask):
    assert ask("has({'a': 1}.a) && !has({'a': 1}.b)") is True
    assert ask("has({'a-b': 1}.`a-b`)") is True


@pytest.mark.parametrize("event", [{}, {"attributes": None}, {"attributes": ["a"]}, {"attributes": "a"}])
def test_an_event_without_attributes_has_none(event):
    from parkway.router.cel import compile_expression

    assert compile_expression("has(a) || has(a.b)").evaluate({"id": "1", "type": "t", **event}) is False
