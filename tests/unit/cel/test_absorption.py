"""`false && error` is false and `true || error` is true, in either order; nothing else absorbs."""

import itertools

import pytest

OPERANDS = {"t": True, "f": False, "missing.k == 1": "error", "number": "error", "1 / 0 == 1": "error"}


def conjunction(values):
    if False in values:
        return False
    return "error" if "error" in values else True


def disjunction(values):
    if True in values:
        return True
    return "error" if "error" in values else False


@pytest.mark.parametrize("operands", list(itertools.product(OPERANDS, repeat=3)))
def test_every_combination_of_three(operands, ask):
    values = [OPERANDS[operand] for operand in operands]
    world = {"t": True, "f": False, "number": 5}
    assert ask(" && ".join(operands), **world) == conjunction(values)
    assert ask(" || ".join(operands), **world) == disjunction(values)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("!(missing == 1)", "error"),
        ("missing == 1 ? true : true", "error"),
        ("5 > missing || t", True),
        ("t ? t : missing", True),
        ("f ? missing : t", True),
        ("(missing || t) && t", True),
        ("(missing && f) == false", True),
        ("[missing] == [] || t", True),
        ("[missing] == []", "error"),
        ("t == (missing || t)", True),
        ("'a' in {'a': missing}", "error"),
    ],
)
def test_where_an_error_goes(text, result, ask):
    assert ask(text, t=True, f=False) == result


def test_false_is_not_python_zero(ask):
    assert ask("zero && t", zero=0, t=True) == "error"
    assert ask("zero || t", zero=0, t=True) is True
    assert ask("!zero", zero=0) == "error"
    assert ask("!empty", empty="") == "error"
