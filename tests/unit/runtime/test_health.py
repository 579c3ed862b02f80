import time

import pytest

from parkway.runtime.health import Health, Kind, Pulse


def test_a_check_that_fails_makes_its_kind_fail_and_says_why() -> None:
    health = Health()
    health.started()
    reason: list[str | None] = [None]
    health.live("poll", lambda: None)
    health.ready("group", lambda: reason[0])
    assert health.report(Kind.READY).ok
    reason[0] = "it has not joined"
    report = health.report(Kind.READY)
    assert not report.ok
    assert report.body["status"] == "failing"
    assert report.body["checks"]["group"]["reason"] == "it has not joined"
    assert health.report(Kind.LIVE).ok
    assert list(health.report(Kind.LIVE).body["checks"]) == ["poll"]


def test_a_process_is_not_ready_before_all_its_checks_are_there() -> None:
    health = Health()
    assert health.report(Kind.LIVE).ok
    assert not health.report(Kind.READY).ok
    health.started()
    assert health.report(Kind.READY).ok


def test_since_is_when_the_state_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    health = Health()
    health.started()
    reason: list[str | None] = [None]
    health.ready("group", lambda: reason[0])

    def since() -> str:
        now[0] += 60
        return health.report(Kind.READY).body["checks"]["group"]["since"]

    first = since()
    assert first == "2001-09-09T01:46:40+00:00"  # when it was registered
    assert since() == first
    reason[0] = "gone"
    changed = since()
    assert changed == "2001-09-09T01:49:40+00:00"
    reason[0] = "gone, for another reason"
    assert since() == changed


def test_a_warning_is_shown_and_changes_nothing() -> None:
    health = Health()
    health.started()
    health.ready("group", lambda: None)
    health.warn("plan", lambda: "the new plan was refused: no such topic")
    health.warn("quiet", lambda: None)
    report = health.report(Kind.READY)
    assert report.ok
    assert report.body["warnings"]["plan"]["text"] == "the new plan was refused: no such topic"
    assert list(report.body["warnings"]) == ["plan"]


def test_a_check_that_raises_fails() -> None:
    health = Health()
    health.started()

    def broken() -> str | None:
        raise KeyError("secret")

    health.live("broken", broken)
    report = health.report(Kind.LIVE)
    assert not report.ok
    assert report.body["checks"]["broken"]["reason"] == "the check itself raised KeyError"


def test_a_pulse_stops_when_nothing_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    pulse = Pulse("the event loop", "a handler blocks it", limit=30)
    now[0] = 1000
    assert pulse.check() is None  # it has not begun: other actions may wait before it
    now[0] = 0
    pulse.beat()
    now[0] = 29
    assert pulse.check() is None
    now[0] = 31
    assert pulse.check() == "the event loop has not moved for 31 s: a handler blocks it"
    pulse.beat()
    assert pulse.check() is None
