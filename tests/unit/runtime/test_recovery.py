"""When a fatal error of a producer ends the process."""

import pytest

from parkway.runtime.instance import InstanceError
from parkway.runtime.recovery import FatalErrors
from parkway.runtime.transaction_errors import FatalTransactionError

DEAD = FatalTransactionError("dead")
FENCED = FatalTransactionError("fenced", fenced=True)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def errors(clock: Clock) -> FatalErrors:
    return FatalErrors("pod-7", 30.0, clock)


def test_the_first_fatal_error_is_mended_at_once(errors: FatalErrors) -> None:
    assert errors.add(DEAD) == 0.0


def test_fatal_errors_that_repeat_wait_longer_and_longer_and_then_end_the_process(errors: FatalErrors) -> None:
    waits = [errors.add(DEAD) for _ in range(4)]
    assert waits == sorted(waits)
    assert waits[1] > 0
    with pytest.raises(FatalTransactionError, match="dead"):
        errors.add(DEAD)


def test_a_commit_in_between_makes_them_rare_again(errors: FatalErrors) -> None:
    for _ in range(20):
        errors.add(DEAD)
        errors.committed()


def test_two_fences_in_a_row_name_the_instance(errors: FatalErrors, clock: Clock) -> None:
    errors.add(FENCED)
    errors.committed()  # two processes of one instance fence each other between commits that succeed
    clock.now += 29.0
    with pytest.raises(InstanceError, match=r"'pod-7'.*PARKWAY_INSTANCE"):
        errors.add(FENCED)


def test_a_broker_that_was_away_twice_is_no_other_process(errors: FatalErrors, clock: Clock) -> None:
    for _ in range(3):
        errors.add(FENCED)
        errors.committed()
        clock.now += 30.0


def test_what_fenced_a_process_that_lost_its_place_in_the_group_may_be_its_successor(errors: FatalErrors) -> None:
    errors.add(FENCED)
    errors.left_group()
    errors.add(FENCED)
