import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkway.workers.attempts import Tried
from parkway.workers.completion import MapError, decode, encode, largest_span
from parkway.workers.marks import CLEAN, LONGEST_TEXT, MOST_DEATHS, Marks, MarksError

offsets = st.none() | st.integers(0, 2**63 - 1)
marks = st.builds(
    Marks,
    unclean=st.booleans(),
    deaths=st.integers(0, MOST_DEATHS),
    suspects=offsets,
    started=offsets,
    alone=offsets,
    convicted=offsets,
)


@given(marks)
def test_marks_round_trip_in_a_map_and_fit_in_their_room(one: Marks) -> None:
    assert len(one.to_text()) <= LONGEST_TEXT
    found = decode(encode("t", 5, 9, "stamp", 3, [5], None, one))
    assert found.marks == one
    assert found.unfinished == {5}


@given(marks, st.binary(min_size=1, max_size=64))
def test_the_longest_map_fits_with_its_marks(one: Marks, noise: bytes) -> None:
    limit, base = 4_000, 2**62
    span = largest_span(limit)
    unfinished = [base + place for place in range(span) if noise[place // 8 % len(noise)] >> place % 8 & 1]
    tried = {offset: Tried(99, 2**31 + place) for place, offset in enumerate(unfinished)}
    assert len(encode("a" * 22, base, base + span, "0123456789abcdef", 2**40, unfinished, tried, one)) <= limit


def test_a_map_of_the_version_before_reads_as_clean() -> None:
    found = decode("1;topic;5;stamp;3;4;bAQ==")
    assert (found.base, found.span, found.unfinished, found.marks) == (5, 4, {5}, CLEAN)


def test_deaths_beyond_the_most_are_not_told_apart() -> None:
    assert Marks.from_text(Marks(deaths=1_000).to_text()).deaths == MOST_DEATHS


def test_letters_of_a_later_build_are_ignored() -> None:
    assert Marks.from_text("u1,zwhat:ever,d2") == Marks(unclean=True, deaths=2)


@pytest.mark.parametrize("text", ["u", "d-1", "s1.5", "a٣", "c" + "9" * 40])
def test_broken_marks_break_the_map(text: str) -> None:
    with pytest.raises(MarksError):
        Marks.from_text(text)
    with pytest.raises(MapError):
        decode(f"2;topic;5;stamp;3;4;bAQ==;marks={text}")


@given(st.text(max_size=80))
def test_what_is_no_marks_raises_marks_error(text: str) -> None:
    with contextlib.suppress(MarksError):
        Marks.from_text(text)


def test_only_an_unclean_map_lets_records_start_and_only_what_it_shows() -> None:
    assert not CLEAN.allows(0)
    assert Marks(unclean=True).allows(10**9)
    assert Marks(unclean=True, started=5).allows(4)
    assert not Marks(unclean=True, started=5).allows(5)
