"""What a name means, and which attributes an expression reads."""

import pytest

from parkway.router.cel import compile_expression
from parkway.schemas.event_types import EventType


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("score > 1", {"score"}),
        ("attributes.score > 1", {"score"}),
        ("attributes['a.b'] == 1", {"a.b"}),
        ("a.b.c == d[e] && has(f) && has(g.h)", {"a", "d", "e", "f", "g"}),
        ("id == 'x' && type == EventType.InputEvent", set()),
        ("attributes.id == 'x'", {"id"}),
        ("'x' in attributes && size(attributes) > 1", set()),
        ("size(a) > b.size() ? c == 1 : [x, {'k': y}] == [z]", {"a", "b", "c", "x", "y", "z"}),
        ("attributes[key] == 1", {"key"}),
    ],
)
def test_the_attributes_that_it_reads(text, names):
    assert compile_expression(text).attribute_names == names


def test_the_events_own_parts_win_over_attributes(ask):
    assert ask("id == '1' && type == 'probe'", id="other", type="other") is True
    assert ask("attributes.id == 'other'", id="other") is True
    assert ask(".x == 1 && attributes.x == x", x=1) is True


@pytest.mark.parametrize(
    "name", ["size", "has", "matches", "all", "exists", "string", "timestamp", "EventTypes", "int"]
)
def test_a_function_name_is_a_field_where_it_is_not_called(name, ask):
    assert ask(f"{name} == 3 && attributes.{name} == 3", **{name: 3}) is True


@pytest.mark.parametrize("name", ["nullable", "trueish", "in_stock", "falsely", "_x", "X1"])
def test_a_keyword_ends_where_its_word_ends(name, ask):
    assert ask(f"{name} == 3", **{name: 3}) is True


@pytest.mark.parametrize("name", ["for", "if", "as", "while", "namespace"])
def test_a_reserved_word_follows_a_dot(name, ask):
    assert ask(f"attributes.{name} == 3", **{name: 3}) is True


def test_every_constant_is_its_type(ask):
    for name, value in EventType.names().items():
        assert ask(f"type == EventType.{name}", event_type=value) is True


def test_whole_map_and_dynamic_keys(ask):
    assert ask("'a' in attributes && attributes[key] == 1", a=1, key="a") is True
    assert ask("attributes == {'a': 1.0}", a=1) is True
    assert ask("attributes.`a-b` == 1 && attributes['a-b'] == 1", **{"a-b": 1}) is True
