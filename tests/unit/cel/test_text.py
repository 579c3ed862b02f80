"""String literals and functions."""

import pytest

from parkway.router.cel import compile_expression


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'it\'s'", "it's"),
        (r'"\"\\\?\`"', '"\\?`'),
        (r"'\a\b\f\n\r\t\v'", "\a\b\f\n\r\t\v"),
        (r"'\x41\X41\101\u0041\U00000041'", "AAAAA"),
        (r"'\U0001F600'", "😀"),
        ("'''it's \"\"\" fine'''", 'it\'s """ fine'),
        ("'''two\nlines'''", "two\nlines"),
        ("'''two\r\nlines\r'''", "two\nlines\n"),
        (r"r'\d\n'", r"\d\n"),
        (r"R'\'", "\\"),
        (r'r"""\"""', "\\"),
        (r"'\d+\.\s'", r"\d+\.\s"),
        ("'// no comment'", "// no comment"),
        ("'' // a comment", ""),
        ("'a' + 'b'", "ab"),
    ],
)
def test_the_value_of_a_literal(literal, value, ask):
    assert ask(f"s == {literal}", s=value) is True


@pytest.mark.parametrize(
    "text", ["s == 'a\nb'", "s == 'a\\\nb'", r"s == '\u12'", r"s == '\8'", r"s == b'\u0041'", r"s == b'\d'"]
)
def test_a_malformed_literal_does_not_load(text, load_error):
    assert load_error(compile_expression, text).stage == "syntax"


def test_an_escape_that_keeps_its_backslash_is_warned_of():
    expression = compile_expression(r"name.matches('^o_\d+$')")
    assert expression.evaluate({"id": "1", "type": "t", "attributes": {"name": "o_12"}}) is True
    assert [r"`\d`" in warning and "r'...'" in warning for warning in expression.warnings] == [True]
    assert compile_expression(r"name.matches(r'^o_\d+$')").warnings == ()
    assert compile_expression(r"name.matches('^o_\\d+$')").warnings == ()


@pytest.mark.parametrize("value", [None, True, 5, 1.5, ["a"], {"a": 1}])
@pytest.mark.parametrize("call", ["contains('a')", "startsWith('a')", "endsWith('a')", "matches('a')"])
def test_string_functions_take_strings_only(value, call, ask):
    assert ask(f"s.{call}", s=value) == "error"
    assert ask(f"'a'.{call.replace(chr(39) + 'a' + chr(39), 's')}", s=value) == "error"


def test_strings_are_code_points_and_never_something_else(ask):
    assert ask("size(s) == 1", s="😀") is True
    assert ask("size(s) == 2", s="e\u0301") is True
    assert ask("s == '\u00e9'", s="e\u0301") is False
    assert ask("s == {'a': 1}", s='{"a": 1}') is False
    assert ask("s < timestamp('2026-01-01T00:00:00Z')", s="2025-01-01T00:00:00Z") == "error"
    assert ask("'a' in s", s="abc") == "error"
    assert ask("s[0] == 'a'", s="abc") == "error"
    assert ask("b'a' == 'a' || s == b'a'", s="a") is False


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("string(1.0) == '1' && string(1e21) == '1e+21' && string(-0.5) == '-0.5'", True),
        ("string(123456.0) == '123456' && string(1234567.0) == '1.234567e+06'", True),
        ("string(0.0001) == '0.0001' && string(0.00001) == '1e-05'", True),
        ("string(5u) == '5' && string(true) == 'true' && string(b'abc') == 'abc'", True),
        (r"string(b'\xff') == ''", "error"),
        ("string(null) == ''", "error"),
        ("int('-12') == -12 && int(1.9) == 1 && int(-1.9) == -1", True),
        ("int('1.5') == 1", "error"),
        ("int('1_0') == 10", "error"),
        ("int(1e19) > 0", "error"),
        ("uint(-1) == 0u", "error"),
        ("uint('5') == 5u", True),
        ("double('1e5') == 100000.0 && double(1) == 1.0 && double('inf') > 1e308", True),
        ("double('1_0') == 10.0", "error"),
        ("double('.5') == 0.5 && double('5.') == 5.0 && double('-1E3') == -1000.0 && double('+1') == 1.0", True),
        ("double('0x1f') == 31.0", "error"),
        ("double(' 1') == 1.0", "error"),
        ("double('') == 0.0", "error"),
        ("double('NaN') != double('nan') && double('-Infinity') < -1e308", True),
        ("int('9223372036854775807') > 0 && int('-9223372036854775808') < 0", True),
        ("int('9223372036854775808') > 0", "error"),
        ("int(9223372036854775807.0) > 0", "error"),
        ("int(9223372036854774784.0) == 9223372036854774784", True),
        ("int(-9223372036854775808.0) < 0", "error"),
        ("int(18446744073709551615u) > 0", "error"),
        ("int(double('nan')) == 0", "error"),
        ("int('') == 0", "error"),
        ("int(' 1') == 1", "error"),
        ("int('+1') == 1 && int('007') == 7 && int('-0') == 0", True),
        ("int(true) == 1", "error"),
        ("uint(1.9) == 1u && uint('18446744073709551615') == 18446744073709551615u", True),
        ("uint(18446744073709551615.0) > 0u", "error"),
        ("uint(18446744073709549568.0) > 0u", True),
        ("uint(-0.5) == 0u", "error"),
        ("uint('-0') == 0u", "error"),
        ("uint(true) == 1u", "error"),
        ("string(1.0 / 0.0) == 'inf' && string(-1.0 / 0.0) == '-inf' && string(0.0 / 0.0) == 'nan'", True),
        ("string(-0.0) == '-0' && string(100000.0) == '100000' && string(1000000.0) == '1e+06'", True),
        ("string(0.1) == '0.1' && string(123456.789) == '123456.789'", True),
        ("string(5e-324) == '5e-324' && string(1.7976931348623157e308) == '1.7976931348623157e+308'", True),
        ("string('a') == 'a' && string(-5) == '-5'", True),
        ("string([1]) == ''", "error"),
        ("bytes(1) == b''", "error"),
        ("b'a' + b'b' == b'ab' && b'a' < b'ab' && size(b'é') == 2", True),
        (r"b'\x41\101\n' == b'AA\x0a' && br'\x' == b'\\x'", True),
        ("b'a'.contains(b'a')", "error"),
        ("bool(1)", "error"),
        ("bool('t') && bool('1') && bool('True') && !bool('FALSE')", True),
        ("bool('tRUE')", "error"),
        ("type(b'') != type('') && type(null) == type(null) && type({}) != type([])", True),
        ("bool('TRUE') && !bool('f')", True),
        ("bool('yes')", "error"),
        ("bytes('\u00e9') == b'\\303\\251' && size(b'\\xff') == 1", True),
        ("dyn(1) == 1 && type(1) == type(2) && type(1) != type(1u)", True),
    ],
)
def test_conversions(text, result, ask):
    assert ask(text) == result
