from concurrent.futures import Future
from dataclasses import dataclass

import pytest

from parkway.runtime.log_offsets import high_watermarks, log_beginnings


@dataclass
class _Info:
    offset: int


class _Admin:
    """Answers as librdkafka 2.16 does while the leader of a partition is gone: no error, and offset -1001."""

    def __init__(self, offsets: list[int]) -> None:
        self._offsets = offsets
        self.refreshed = 0

    def list_offsets(self, request, **_):
        answers = {}
        for place, offset in zip(request, self._offsets, strict=True):
            answers[place] = Future()
            answers[place].set_result(_Info(offset))
        return answers

    def list_topics(self, **_):
        self.refreshed += 1


@pytest.mark.parametrize("ask", [log_beginnings, high_watermarks])
def test_a_partition_without_an_offset_is_no_answer(ask) -> None:
    admin = _Admin([7, -1001])
    assert ask(admin, [("t", 0), ("t", 1)]) is None
    assert admin.refreshed == 1


@pytest.mark.parametrize("ask", [log_beginnings, high_watermarks])
def test_offsets_by_topic_and_partition(ask) -> None:
    assert ask(_Admin([7, 0]), [("t", 0), ("t", 1)]) == {("t", 0): 7, ("t", 1): 0}
