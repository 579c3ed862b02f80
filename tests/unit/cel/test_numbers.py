"""Where CEL's numbers are not Python's."""

import pytest

BIG = 2**63


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 == 1.0 && 1 == 1u && 1u == 1.0", True),
        ("1 == true", False),
        ("[1] == [true]", False),
        ("{'a': 1} == {'a': true}", False),
        ("1 in [true]", False),
        ("true in [1, true]", True),
        ("{true: 1, 1: 2}[true] == 1", True),
        ("{true: 1}[1] == 1", "error"),
        ("{1: 'a'}[1.0] == 'a' && {1: 'a'}[1u] == 'a'", True),
        ("{1: 'a', 1u: 'b'} == {}", "error"),
        ("true < 1", "error"),
        ("false < true", True),
        ("null < null", "error"),
        ("[1] < [2]", "error"),
        ("'a' < 'b' && b'a' < b'b'", True),
        ("9223372036854775807 + 1 > 0", "error"),
        ("-9223372036854775808 - 1 < 0", "error"),
        ("9223372036854775807 * 2 > 0", "error"),
        ("-(-9223372036854775808) > 0", "error"),
        ("- 9223372036854775808 < 0", True),
        ("-9223372036854775808 / -1 > 0", "error"),
        ("1u - 2u < 0u", "error"),
        ("18446744073709551615u + 1u > 0u", "error"),
        ("-5u < 0", "error"),
        ("-7 / 2 == -3 && 7 / -2 == -3", True),
        ("-7 % 3 == -1 && 7 % -3 == 1", True),
        ("1 / 0 == 0", "error"),
        ("1 % 0 == 0", "error"),
        ("1.0 / 0.0 > 1e308 && -1.0 / 0.0 < -1e308", True),
        ("0.0 / 0.0 == 0.0 / 0.0", False),
        ("0.0 / 0.0 in [0.0 / 0.0]", False),
        ("-0.0 == 0.0", True),
        ("1 + 1.0 == 2.0", "error"),
        ("1 + 1u == 2", "error"),
        ("1.5 % 1.0 == 0.5", "error"),
        ("9223372036854775807 >= 9223372036854775808.0", True),
        ("9007199254740993 == 9007199254740992.0", True),
        ("9007199254740993 == 9007199254740992", False),
        ("18446744073709551615u > -1", True),
        ("[7, 8, 9][1.0] == 8", True),
        ("[7, 8, 9][1.5] == 8", "error"),
        ("[7, 8, 9][-1] == 9", "error"),
        ("[7, 8, 9][true] == 8", "error"),
        ("true || 1.a == 1", True),
        ("true || 1.e5 == 1 || 2. endsWith('a')", True),
        ("1.a == 1", "error"),
        ("1 .a == 1 || true", True),
        ("01 == 1 && 00 == 0 && 1e3 == 1000.0 && 1E-3 == 0.001", True),
        ("5u / 2u == 2u && 5u % 3u == 2u && 2u * 3u == 6u && 3u - 2u == 1u", True),
        ("5u / 0u == 0u", "error"),
        ("5u % 0u == 0u", "error"),
        ("18446744073709551615u * 2u > 0u", "error"),
        ("1u == 1U && 0xFFu == 255u && 18446744073709551615u == 18446744073709551615.0", True),
        ("5u + 1 == 6", "error"),
        ("-(5u) < 0", "error"),
        ("5u in [5] && 5 in {5u: 1} && 5.0 in {5: 1}", True),
        ("1.5 in {1: 1}", False),
        ("1.7976931348623157e308 * 10.0 > 1e308", True),
        ("1e400 == 1e999", True),
        ("9223372036854775807 == 9223372036854775807.0 && 9223372036854775806 < 9223372036854775807", True),
        ("0x1F == 31 && -0x1F == -31 && 0x1Fu == 31u", True),
        (".5 == 5e-1 && 1e2 == 100", True),
    ],
)
def test_literals(text, result, ask):
    assert ask(text) == result


@pytest.mark.parametrize("big", [BIG, BIG + 1, -BIG - 1, 2**70, 10**400])
def test_an_integer_outside_int64_is_a_double(big, ask):
    assert ask("x == y", x=big, y=big) is True
    assert ask("x + 1 > 0", x=big) == "error"
    assert ask("type(x) == type(1.0) && type(l[0]) == type(1.0)", x=big, l=[big]) is True
    assert ask("x > 5 || x < 5", x=big) is True
    assert ask("x in [1, 2] || x == 1", x=big) is False


def test_it_equals_what_the_double_equals(ask):
    assert ask("x == 9223372036854775808.0", x=BIG + 1) is True
    assert ask("x == y", x=BIG + 1, y=float(BIG)) is True
    assert ask("l == m", l=[BIG + 1], m=[BIG]) is True
    assert ask("x in l", x=BIG + 1, l=[BIG]) is True


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_no_number(value, ask):
    for operator in ("<", "<=", ">", ">="):
        assert ask(f"x {operator} 0", x=value) == "error"
        assert ask(f"5.5 {operator} x", x=value) == "error"
    assert ask("x == 0 || x == 1 || x == 1.0", x=value) is False
    assert ask("x != 0 && x != 1", x=value) is True
    assert ask("x in [0, 1, 0.0, 1.0]", x=value) is False
    assert ask("x + 1 == 2", x=value) == "error"
    assert ask("x * 2.0 == 2.0", x=value) == "error"
    assert ask("int(x) == 1", x=value) == "error"
    assert ask("l[x] == 1", x=value, l=[1, 1]) == "error"


@pytest.mark.parametrize("x", [7, -7])
def test_fields_divide_as_literals_do(x, ask):
    sign = 1 if x > 0 else -1
    assert ask(f"x / 2 == {3 * sign}", x=x) is True
    assert ask(f"x % 2 == {sign}", x=x) is True
    assert ask("x / 0 == 1", x=x) == "error"
    assert ask("x / 2.0 == 3.5", x=x) == "error"
    assert ask("x / 0.0 > 1.0 || x / 0.0 < 1.0", x=float(x)) is True
