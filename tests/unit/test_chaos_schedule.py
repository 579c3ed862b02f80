"""The schedule of `make chaos` when a broker is lost: the two that are left are all that Kafka can do with."""

import pytest
from tests.chaos.faults import FOR_EVER, Fault, lose_broker, schedule

SECONDS = 150.0


@pytest.fixture(params=range(30))
def seed(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


def test_one_broker_is_lost_in_the_middle_third_and_no_other_is_away_from_then_on(seed: int) -> None:
    planned = schedule(seed, SECONDS, routers=2, workers=3, brokers=3)
    faults = lose_broker(planned, seed, SECONDS, brokers=3)
    (lost,) = [one for one in faults if one.lasts == FOR_EVER]
    assert lost.strikes_broker
    assert SECONDS / 3 <= lost.at <= SECONDS * 2 / 3
    others = [one for one in faults if one.strikes_broker and one is not lost]
    assert all(one.at + one.lasts < lost.at for one in others)
    assert [one.at for one in faults] == sorted(one.at for one in faults)
    assert set(planned) - set(faults) <= {one for one in planned if one.strikes_broker}


def test_the_same_seed_loses_the_same_broker_and_others_lose_others() -> None:
    def lost(seed: int) -> Fault:
        return next(one for one in lose_broker([], seed, SECONDS, brokers=3) if one.lasts == FOR_EVER)

    assert lost(5) == lost(5)
    assert {lost(seed).target for seed in range(30)} == {"broker-1", "broker-2", "broker-3"}
    assert str(lost(5)) == f"SIGKILL {lost(5).target} for ever"
