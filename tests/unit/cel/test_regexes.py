"""`matches` is RE2, also where Python's `re` answers for it."""

import re2
from hypothesis import given
from hypothesis import strategies as st

from parkway.router.cel import compile_expression
from parkway.router.cel.regexes import compile_search

ATOMS = ["a", "b", "1", "_", "-", ".", r"\.", r"\d", r"\w", "[a-c]", "[a-z0-9]", "[a-]", r"\-", "é", "(a|b)", "^", "$"]
QUANTIFIERS = ["", "", "", "+", "*", "?", "{2}", "{1,2}", "{0,}", "+?"]
TEXTS = ["", "a", "ab", "aab", "abc", "1", "12", "a1", "_", "a.b", "a\n", "\n", "é", "٣", "a-b", "-", "aaaa", "^a$"]


@given(
    st.sampled_from(["", "^"]),
    st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)), max_size=4),
    st.sampled_from(["", "$"]),
)
def test_every_pattern_matches_as_re2_does(start, parts, end):
    pattern = start + "".join(map("".join, parts)) + end
    options = re2.Options()
    options.log_errors = False
    try:
        expected = re2.compile(pattern, options)
    except re2.error:
        return
    search = compile_search(pattern)
    for text in TEXTS:
        assert search(text) is (expected.search(text) is not None), (pattern, text)


def test_it_takes_linear_time(ask):
    assert ask("s.matches('(a+)+$')", s="a" * 5_000 + "b") is False
    assert ask("s.matches('^a*a*a*a*a*a*b')", s="a" * 5_000) is False
    assert ask("s.matches('a*b')", s="a" * 100_000) is False


def test_a_pattern_from_the_event(ask):
    assert ask("s.matches(p)", s="abc", p="^a") is True
    assert ask("matches(s, p)", s="abc", p="b$") is False
    assert ask("s.matches(p)", s="abc", p="(") == "error"
    assert ask("s.matches(p)", s="abc", p="a" * 1025) == "error"
    assert ask("s.matches(p)", s="abc", p=5) == "error"


def test_a_bad_literal_is_found_at_load(load_error):
    for pattern in ("(", "a{1001}", "(?=a)", r"\\1", "[z-a]"):
        assert load_error(compile_expression, f"s.matches('{pattern}')").stage == "syntax"
