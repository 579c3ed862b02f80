"""JSON between bytes and Python: limits, and numbers that come out as they went in."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkway.schemas import jsonio
from parkway.schemas.jsonio import JsonError


def rewritten(data: bytes) -> bytes:
    """What the router writes for a document that it has read."""
    return jsonio.dumps(jsonio.loads_for_writing(data, jsonio.loads(data)))


@pytest.mark.parametrize(
    "number",
    [
        str(2**70),
        str(-(2**70)),
        str(2**64 - 1),
        "0.1234567890123456789",
        "100000000000000000000000000000000000001",
        "1E5",
        "1e5",
        "1e+5",
        "1.5E-7",
        "-0",
        "-0.0",
        "0",
        "-1",
        "1.0",
        "0.1",
        "9007199254740993",
        "123456789012345.678",
        "1e308",
        "5e-324",
    ],
)
def test_numbers_are_written_as_they_came(number):
    data = f'{{"a":[{number},{{"b":{number}}}],"c":{number}}}'.encode()
    assert rewritten(data) == data


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_no_number_changes_its_value(number):
    from fractions import Fraction

    written = rewritten(f"[{number}]".encode()).decode()[1:-1]
    assert Fraction(written) == Fraction(number)
    assert written.startswith("-") == number.startswith("-")


def test_of_repeated_keys_the_last_one_counts_in_both_forms():
    data = b'{"a":1,"b":2,"a":3,"n":1E5}'
    assert jsonio.loads(data) == {"a": 3, "b": 2, "n": 1e5}
    assert json.loads(rewritten(data)) == {"a": 3, "b": 2, "n": 1e5}
    assert rewritten(b'{"a":1,"a":1E5}') == b'{"a":1E5}'


def test_text_that_looks_like_a_number_stays_text():
    data = '{"a":"1E5","b":"-0","c":"12345678901234567890","1e5":"é😀\\u0000"}'.encode()
    assert json.loads(rewritten(data)) == json.loads(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ).filter(lambda value: "Infinity" not in json.dumps(value))
)
def test_document_is_written_with_the_same_content(value):
    data = json.dumps(value).encode()
    assert json.loads(rewritten(data)) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nul",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"[1e400]",
        b"01",
        b"1.",
        b"'a'",
        b"\xff",
        b'"\xff"',
        b'"\\ud800"',
        b"\xef\xbb\xbf1",
        b"{} {}",
        b'{"a":1,}',
        b"\x00",
        b"1" * 5000,
    ],
)
def test_what_is_no_json_is_refused(data):
    with pytest.raises(JsonError, match="not JSON") as failure:
        jsonio.loads(data)
    assert not failure.value.too_deep


def nested(levels: int, *, opening: str = "[", closing: str = "]", inner: str = "1") -> bytes:
    return (opening * levels + inner + closing * levels).encode()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"[":', "}]")])
@pytest.mark.parametrize("as_text", [False, True])
def test_depth_limit_is_exact(opening, closing, as_text):
    per_level = 2 if opening.startswith("[{") else 1
    for limit in (2, 10, 100):
        fits = nested(limit // per_level, opening=opening, closing=closing)
        too_deep = b"[" + fits + b"]"
        assert jsonio.loads(fits.decode() if as_text else fits, max_depth=limit) is not None
        with pytest.raises(JsonError, match=f"nested deeper than {limit} levels") as failure:
            jsonio.loads(too_deep.decode() if as_text else too_deep, max_depth=limit)
        assert failure.value.too_deep


@pytest.mark.parametrize(
    "data",
    [
        nested(10_000),
        b"[" * 10_000,
        nested(10_000, opening='{"a":', closing="}"),
        nested(3_000, opening='{"' + "😀" * 50 + '":', closing="}"),
        b"[" * 101 + b"x",
        b'["\\"]",' * 101 + b"1",
    ],
)
def test_deeper_than_the_parser_goes_is_too_deep_not_invalid(data):
    with pytest.raises(JsonError, match="nested deeper than 100 levels") as failure:
        jsonio.loads(data)
    assert failure.value.too_deep


def test_brackets_in_text_do_not_nest():
    text = "[" * 500 + "{" * 500
    assert jsonio.loads(json.dumps({"a": text, text: [text]})) == {"a": text, text: [text]}
    with pytest.raises(JsonError, match="not JSON"):
        jsonio.loads(json.dumps({"a": text}).encode() + b"x")


def test_wide_is_not_deep():
    data = b"[" + b"[]," * 10_000 + b"{}]"
    assert len(jsonio.loads(data)) == 10_001


def test_string_that_never_ends_costs_milliseconds():
    # Many brackets, so that their depth is measured, and a string that a naive scan searches from every quote.
    data = b"[" + b"[]," * 101 + b'"' + b'\\"' * 20_000
    started = time.process_time()
    with pytest.raises(JsonError, match="not JSON"):
        jsonio.loads(data)
    assert time.process_time() - started < 1.0


def test_dumps_names_what_has_no_json_form():
    with pytest.raises(TypeError, match="object"):
        jsonio.dumps({"a": object()})


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_exact_form_holds_every_number_or_its_text(number):
    from fractions import Fraction

    data = f'{{"a":[{number}]}}'.encode()
    exact = jsonio.loads_exact(data, jsonio.loads(data))
    written = jsonio.dumps(exact).decode()[6:-2]
    assert Fraction(written) == Fraction(number)
    assert written.startswith("-") == number.startswith("-")
    if isinstance(exact["a"][0], int | float):
        assert Fraction(repr(exact["a"][0])) == Fraction(number)


def test_number_alone_is_written_as_it_came():
    for number in (b"1E5", b"-0", b"12345678901234567890123"):
        assert rewritten(number) == number
