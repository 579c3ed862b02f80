"""Whoever cannot answer is not asked."""

import io
import os

import pytest

from parkway.cli.ask import NobodyToAskError, confirm


def test_a_pipe_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()  # open: to read from it would never end
    with os.fdopen(reading) as stdin, os.fdopen(writing, "w"):
        monkeypatch.setattr("sys.stdin", stdin)
        with pytest.raises(NobodyToAskError, match=r"give --yes \(Delete it\?\)"):
            confirm("Delete it?")


def test_an_answer_out_of_a_file_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(NobodyToAskError):
        confirm("Delete it?")
