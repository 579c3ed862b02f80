"""Calls that may never return: their errors come back, one that hangs is left behind, and nothing of one is kept."""

import gc
import threading
import weakref

import pytest

from parkway.runtime.bounded_calls import BoundedCalls, NeverReturnedError


class Holder:
    """What a call refers to."""

    def touch(self) -> None: ...


def test_a_call_is_made_and_its_error_comes_back() -> None:
    calls = BoundedCalls()
    seen: list[int] = []
    calls.make(seen.append, 1, seconds=30)
    assert seen == [1]

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        calls.make(fail, seconds=30)


def test_a_call_that_hangs_is_left_behind_and_the_next_one_is_made() -> None:
    calls, let_go, seen = BoundedCalls(), threading.Event(), []
    with pytest.raises(NeverReturnedError, match=r"0\.05 s"):
        calls.make(let_go.wait, seconds=0.05)
    calls.make(seen.append, 2, seconds=30)
    assert seen == [2]
    let_go.set()


def test_nothing_that_a_call_referred_to_is_kept() -> None:
    calls, holder = BoundedCalls(), Holder()
    gone = threading.Event()
    weakref.finalize(holder, gone.set)
    calls.make(holder.touch, seconds=30)
    del holder
    gc.collect()
    assert gone.wait(30)
