"""Limits of an installation: rates, debts, places, and shares that change."""

import asyncio
import math

import pytest

from parkway.agents.rate import RateLimit
from parkway.workers.bucket import Bucket
from parkway.workers.limiter import Limiter
from parkway.workers.share import NOTHING, Share

P = 12


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def share(*owned: int) -> Share:
    return Share(frozenset(owned), P)


ALL = share(*range(P))


def taken(limiter: Limiter, clock: Clock, seconds: float, step: float = 0.05) -> int:
    """How many calls begin in that time when there is always one that would."""
    count, end = 0, clock.now + seconds
    while clock.now < end:
        while (permit := limiter.try_take()) is not None:
            permit.end()
            count += 1
        clock.now += step
    return count


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("100/m", RateLimit(100, 60)),
        ("5/s", RateLimit(5, 1)),
        ("1/h", RateLimit(1, 3600)),
        ("9/d", RateLimit(9, 86400)),
    ],
)
def test_rates_as_text(text: str, limit: RateLimit) -> None:
    assert RateLimit.of(text) == limit


@pytest.mark.parametrize("wrong", ["100", "0/m", "1.5/s", "5/week", "", " 5/s", None, 5])
def test_what_is_no_rate_is_shown(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"rate|RateLimit"):
        RateLimit.of(wrong)


def test_nothing_begins_without_a_share(clock: Clock) -> None:
    limiter = Limiter("m", calls=RateLimit(600, per=60), clock=clock)
    assert taken(limiter, clock, 60) == 0
    limiter.own(ALL)
    assert limiter.try_take() is not None
    limiter.own(NOTHING)
    clock.now += 100
    assert limiter.try_take() is None


def test_the_rate_holds_over_minutes(clock: Clock) -> None:
    limiter = Limiter("m", calls=RateLimit(100, per=60), clock=clock)
    limiter.own(ALL)
    assert 999 <= taken(limiter, clock, 600) <= 1001


def test_a_pause_saves_up_a_tenth_of_a_minute_and_no_more(clock: Clock) -> None:
    limiter = Limiter("m", calls=RateLimit(100, per=60), clock=clock)
    limiter.own(ALL)
    clock.now += 3600
    assert taken(limiter, clock, 0.01) == 10


def test_shares_add_up_to_the_rate_while_they_change(clock: Clock) -> None:
    """Two workers, then three, then one: never more than the installation's rate and a burst each."""
    limiters = [Limiter("m", calls=RateLimit(600, per=60), clock=clock) for _ in range(3)]
    begun = 0
    for owners in ([range(6), range(6, 12), ()], [range(4), range(4, 8), range(8, 12)], [(), range(12), ()]) * 5:
        for limiter, owned in zip(limiters, owners, strict=True):
            limiter.own(share(*owned))
        for _ in range(600):
            clock.now += 0.05
            for limiter in limiters:
                while limiter.try_take() is not None:
                    begun += 1
    assert 15 * 30 * 10 * 0.97 <= begun <= 15 * 30 * 10 + 60 + 15 * 3


def test_tokens_may_be_in_debt_and_are_paid_back(clock: Clock) -> None:
    limiter = Limiter("m", tokens=RateLimit(60_000, per=60), clock=clock)
    limiter.own(ALL)
    permit = limiter.try_take()
    assert permit is not None
    permit.end(30_000)  # half a minute's worth
    clock.now += 29
    assert limiter.try_take() is None
    clock.now += 2
    assert limiter.try_take() is not None


def test_calls_that_begin_together_reserve_what_a_call_usually_costs(clock: Clock) -> None:
    limiter = Limiter("m", tokens=RateLimit(60_000, per=60), clock=clock)
    limiter.own(ALL)
    first = limiter.try_take()
    assert first is not None
    first.end(2_000)
    clock.now += 100  # a full burst: 6,000
    together = 0
    while limiter.try_take() is not None:
        together += 1
    assert together == 3


def test_a_failed_call_gives_its_reserve_back(clock: Clock) -> None:
    limiter = Limiter("m", tokens=RateLimit(60_000, per=60), clock=clock)
    limiter.own(ALL)
    for cost in (5_000, None, None, None):
        clock.now += 100
        permit = limiter.try_take()
        assert permit is not None
        permit.end(cost)
    assert limiter.try_take() is not None


def test_a_second_end_changes_nothing(clock: Clock) -> None:
    limiter = Limiter("m", concurrency=1, clock=clock)
    limiter.own(ALL)
    first = limiter.try_take()
    assert first is not None
    first.end()
    second = limiter.try_take()
    first.end()
    assert second is not None
    assert limiter.try_take() is None


@pytest.mark.parametrize("limit", [1, 5, 12, 30, 100])
def test_places_add_up(limit: int) -> None:
    for owners in ([range(12)], [range(5), range(5, 12)], [range(4), range(4, 8), range(8, 12)]):
        places = [share(*owned).places(limit) for owned in owners]
        assert sum(places) == max(limit, len([one for one in places if one])) or limit < P
        assert all(places)
    assert share().places(limit) == 0


def test_a_bucket_without_a_share_never_fills(clock: Clock) -> None:
    bucket = Bucket(RateLimit(1, per=1), clock)
    bucket.spend(1)
    assert bucket.wait() == math.inf
    bucket.set_share(0.5)
    assert bucket.wait() == pytest.approx(2.0)


# Waiting


async def test_those_inside_wait_in_turn_and_go_before_those_outside() -> None:
    limiter = Limiter("m", concurrency=1)
    limiter.own(ALL)
    order: list[str] = []
    first = limiter.try_take()
    assert first is not None

    async def inside(name: str) -> None:
        permit = await limiter.take()
        order.append(name)
        await asyncio.sleep(0)
        permit.end()

    waiting = [asyncio.create_task(inside(name)) for name in ("a", "b")]
    await asyncio.sleep(0)
    woken = asyncio.Event()
    limiter.when_free(woken.set)
    first.end()
    assert limiter.try_take() is None
    await asyncio.gather(*waiting)
    await asyncio.wait_for(woken.wait(), 5)
    assert order == ["a", "b"]
    assert limiter.try_take() is not None


async def test_who_is_cancelled_while_it_waits_holds_nothing() -> None:
    limiter = Limiter("m", concurrency=1)
    limiter.own(ALL)
    first = limiter.try_take()
    assert first is not None
    for granted in (False, True):
        waiting = asyncio.create_task(limiter.take())
        await asyncio.sleep(0)
        if granted:
            first.end()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert limiter.try_take() is not None


async def test_who_waits_is_woken_by_time_and_by_a_larger_share() -> None:
    limiter = Limiter("m", calls=RateLimit(20, per=1))
    limiter.own(ALL)
    for _ in range(5):
        (await asyncio.wait_for(limiter.take(), 5)).end()
    limiter.own(NOTHING)
    waiting = asyncio.create_task(limiter.take())
    woken = asyncio.Event()
    limiter.when_free(woken.set)
    done, _ = await asyncio.wait([waiting], timeout=0.2)
    assert not done
    limiter.own(ALL)
    await asyncio.wait_for(waiting, 5)
    await asyncio.wait_for(woken.wait(), 5)
