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


def test_who_takes_a_record_over_waits_for_the_rest_of_its_back_off() -> None:
    retry = Retry(attempts=5, backoff=10, factor=2, max_backoff=30)
    assert retry.left(1, 4) == 6
    assert retry.left(3, 15) == 10 + 20 + 30 - 15
    assert retry.left(3, 100) == 0
    assert retry.left(1, -3600) == 10
    assert Retry(attempts=9, backoff=60, max_hold=90).left(4, 80) == 10
