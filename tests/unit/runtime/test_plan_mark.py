"""The mark in a router's offset commits."""

import pytest

from parkway.runtime.plan_mark import PlanMark, read_mark


@pytest.mark.parametrize("build", ["3fa91c", "2026-01;2", "", "plan="])
def test_a_mark_reads_back_whatever_the_build_is(build: str) -> None:
    mark = PlanMark(build, "9f3c", 17)
    assert read_mark(str(mark)) == mark


def test_marks_of_the_first_version_are_read() -> None:
    assert read_mark("1;plan=3fa91c") == PlanMark("3fa91c")


@pytest.mark.parametrize("text", [None, "", "3;a;1;plan=x", "2;a;b;plan=x", "2;a;1", "2;a;1;plus=x", "anything"])
def test_anything_else_is_no_mark(text: str | None) -> None:
    assert read_mark(text) is None
