from typing import Any, cast

from confluent_kafka.admin import AdminClient

from parkway.runtime.renewed_admin import RenewedAdmin
from parkway.runtime.settings import Settings

SETTINGS = Settings(namespace="ns")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """Clients are numbers, in the order in which they are made; those in `mute` never answer."""

    def __init__(self, first: int | None = None, *, mute: set[int]) -> None:
        self.clock = Clock()
        self.mute = mute
        self.made: list[tuple[Settings, str]] = []
        self.admin = RenewedAdmin(
            SETTINGS, "client", cast("AdminClient | None", first), make=self._make, clock=self.clock
        )

    def _make(self, settings: Settings, client_id: str) -> AdminClient:
        self.made.append((settings, client_id))
        return cast("AdminClient", len(self.made))

    def ask(self, seconds: float = 0.0) -> int | None:
        """Which client has answered, after `seconds`."""

        def question(admin: Any) -> int | None:
            self.clock.now += seconds
            return None if admin in self.mute else admin

        return self.admin.ask(question)


def test_a_client_that_never_answers_is_made_anew_again_and_again() -> None:
    bench = Bench(mute={1, 2})
    answers = [bench.ask(20.0) for _ in range(5)]
    assert answers == [None, None, None, None, 3]
    assert bench.made == [(SETTINGS, "client")] * 3


def test_one_that_answers_in_between_is_kept() -> None:
    bench = Bench(mute={1})
    assert bench.ask(20.0) is None
    bench.mute.clear()
    assert bench.ask(20.0) == 1
    bench.mute.add(1)
    assert bench.ask(20.0) is None
    bench.mute.clear()
    assert bench.ask() == 1
    assert len(bench.made) == 1


def test_one_that_was_given_is_asked_first() -> None:
    bench = Bench(100, mute={100})
    assert bench.ask(25.0) is None
    assert bench.made == []
    assert bench.ask(25.0) is None
    assert bench.ask() == 1


def test_the_client_that_is_given_is_asked_although_it_is_falsy() -> None:
    """As an AdminClient is: it has a length, of what waits to be polled, and that is 0 mostly."""
    given = cast("AdminClient", [])

    def make(_settings: Settings, _client_id: str) -> AdminClient:
        raise AssertionError

    assert RenewedAdmin(SETTINGS, "client", given, make=make).ask(lambda admin: admin) is given
