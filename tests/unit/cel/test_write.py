"""A tree written and read again is the same tree."""

import dataclasses

import pytest
from hypothesis import given, settings

from parkway.router.cel import TriggerLoadError
from parkway.router.cel.nodes import Constant, Node
from parkway.router.cel.parse import parse
from parkway.router.cel.write import write


def shape(node):
    """The tree without positions, with the exact types of its constants."""
    if isinstance(node, Constant):
        return ("constant", type(node.value).__name__, node.value)
    if isinstance(node, Node):
        fields = [field.name for field in dataclasses.fields(node) if field.name != "position"]
        return (type(node).__name__, *(shape(getattr(node, field)) for field in fields))
    return tuple(map(shape, node)) if isinstance(node, tuple) else node


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("((a)) == (1)", "a == 1"),
        ("attributes.a == attributes['a']", "a == attributes['a']"),
        ("attributes.id == id && attributes.for == 1", "attributes.id == id && attributes.for == 1"),
        ("a.`b-c` == 1 && a.`in` == 2", "a.`b-c` == 1 && a.`in` == 2"),
        ("(a || b) && (c && d)", "(a || b) && (c && d)"),
        ("a || b && c", "a || b && c"),
        ("(a + b) * c - (d - e) == -(-1)", "(a + b) * c - (d - e) == -(-1)"),
        ("!(a == 1) && !!b && -(-c) < 0", "!(a == 1) && !!b && -(-c) < 0"),
        ("(a ? b : c) ? d : (e ? f : g)", "(a ? b : c) ? d : e ? f : g"),
        ("(a < b) == (c in [1, 2u, 1.5])", "a < b == (c in [1, 2u, 1.5])"),
        ("(1.5).x == (-1).x", "(1.5).x == (-1).x"),
        (r""""it's" == '\n\u00e9\U0001F600\x07' """, r"'it\'s' == '\né😀\u0007'"),
        (r"b'\xff\'a' == b''", r"b'\xff\x27a' == b''"),
        ("type == EventType.InputEvent && has(type)", "type == '_input_event' && has(type)"),
        ("s.size() == size(s) && has(a.b) && {'k': [1]}.k[0] == 1", "s.size() == size(s) && has(a.b) && {'k': [1]}.k[0] == 1"),
    ],
)  # fmt: skip
def test_it_reads_like_what_was_written(text, written):
    assert write(parse(text)[0]) == written
    assert shape(parse(written)[0]) == shape(parse(text)[0])


def test_every_tree_comes_back(random_expressions):
    @settings(max_examples=200, deadline=None)
    @given(random_expressions)
    def check(text):
        try:
            tree = parse(text)[0]
        except TriggerLoadError:
            return
        assert shape(parse(write(tree))[0]) == shape(tree)

    check()
