import pytest

from parkway.agents import Retry


def test_waits_grow_up_to_the_cap():
    retry = Retry(backoff=1, factor=3, max_backoff=5, jitter=0)
    assert [retry.wait_after(attempt) for attempt in (1, 2, 3, 10_000)] == [1, 3, 5, 5]


def test_jitter_only_shortens():
    retry = Retry(backoff=8, jitter=0.25)
    waits = {retry.wait_after(1) for _ in range(200)}
    assert len(waits) > 1
    assert all(6 <= wait <= 8 for wait in waits)


def test_keyword_only():
    with pytest.raises(TypeError):
        Retry(3)


@pytest.mark.parametrize(
    "arguments",
    [
        {"attempts": 0},
        {"on": TimeoutError},
        {"on": ("TimeoutError",)},
        {"on": (KeyboardInterrupt,)},
        {"backoff": -1},
        {"factor": 0.5},
        {"jitter": 2},
    ],
)
def test_what_makes_no_sense_is_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        Retry(**arguments)
