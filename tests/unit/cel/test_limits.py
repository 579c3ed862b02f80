"""Loading never hangs: what is too large is refused, and the rest takes time in proportion to its length."""

import time

import pytest

from parkway.router.cel import TriggerLoadError, compile_expression, compile_trigger

SECONDS = 3.0  # a trap would take minutes; machines are shared


def nested(opening, inner, closing, depth):
    return opening * depth + inner + closing * depth


ACCEPTED = {
    "characters": "x == '" + "a" * (8192 - 7) + "'",
    "brackets": nested("(", "x", ")", 33) + " == 1",
    "items": f"x in [{', '.join(['1'] * 1000)}]",
    "trailing comma": f"x in [{'1,' * 999} 1,]",
    "regex": f"x.matches('{'a' * 1024}')",
    "conjunction": " && ".join(["x == 1"] * 800),
    "negations": "!" * 32 + "true",
    "conditionals": "x == 1 ? true : " * 40 + "false",
    "additions": " + ".join(["x"] * 80) + " == 1",
}
REFUSED = {
    "characters": ("x == '" + "a" * (8193 - 7) + "'", "8,193 characters"),
    "brackets": (nested("(", "x", ")", 34) + " == 1", "more than 32 deep"),
    "lists": (nested("[", "1", "]", 40) + " == x", "more than 32 deep"),
    "items": (f"x in [{', '.join(['1'] * 1001)}]", "more than 1,000 items"),
    "entries": ("{" + ", ".join(f"{i}: 1" for i in range(1001)) + "} == x", "more than 1,000 items"),
    "regex": (f"x.matches('{'a' * 1025}')", "1,025 characters"),
}
TRAPS = {
    "10,000 quotes": "'" * 10_000,
    "8,000 quotes": "'" * 8_000,
    "double quotes": '"' * 8_191,
    "unclosed": "x == '" + "\\'" * 4_000,
    "unclosed backslashes": "x == '" + "\\" * 8_000,
    "alternating quotes": "'\"" * 4_000,
    "triple": "'''" + "''" * 4_000,
    "raw": "r'" * 4_000,
    "deep": "(" * 8_000,
    "deep and closed": nested("(", "1", ")", 4_000),
    "deep lists": nested("[", "", "]", 4_000),
    "deep calls": nested("size(", "x", ")", 1_500),
    "deep indexes": nested("x[", "0", "]", 2_000),
    "indexes in a row": "x" + "[0]" * 2_700,
    "fields in a row": "x" + ".a" * 4_000 + " == 1",
    "calls in a row": "x" + ".size()" * 1_100,
    "negations": "!" * 8_000 + "x",
    "minuses": "-" * 8_000 + "1 == x",
    "sums": "1+" * 4_000 + "1 == x",
    "relations": "x<" * 4_000 + "1",
    "conditionals": "x?1:" * 2_000 + "1",
    "words": "in " * 2_700,
    "comment": "//" * 4_000,
    "digits": "1" * 8_000 + " == x",
    "digits and dots": "1." * 4_000,
    "exponents": "1e" * 4_000,
    "regex": "x.matches('" + "(a*)*" * 200 + "')",
    "regex of repetitions": "x.matches('((((a{100}){100}){100}){100})')",
    "backticks": "`" * 8_000,
    "sets of lists": "[" + ",".join(["[" + ",".join(["1"] * 500) + "]"] * 7) + "] == x",
    "a disjunction of types": " || ".join([f"type == 'a{i}'" for i in range(400)]),
    "nul": "\x00" * 8_000,
    "wide": "\U0001f600" * 8_000,
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_at_the_limit_it_loads(text):
    assert compile_expression(text).text == text


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_above_the_limit_it_says_which(text, reason, load_error):
    error = load_error(compile_expression, text)
    assert error.stage == "limit"
    assert reason in error.reason


@pytest.mark.parametrize("text", TRAPS.values(), ids=TRAPS)
def test_a_trap_is_answered_in_time(text):
    message = ""
    start = time.process_time()
    try:
        compile_trigger(text)
    except TriggerLoadError as error:
        message = str(error)
    assert time.process_time() - start < SECONDS
    assert len(message) < 1_000


def test_what_is_deeper_than_pythons_parser_is_still_exact(ask):
    text = "(x == 1 ? " * 30 + "y == 2" + " : false)" * 30
    assert ask(text, x=1, y=2) is True
    assert ask(text, x=1, y=3) is False
    assert ask("+".join(["x"] * 90) + " == 90", x=1) is True
