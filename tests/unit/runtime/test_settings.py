"""Settings that cannot be used: one line that names the variable and says what it takes."""

import pytest

from parkway.runtime import clients
from parkway.runtime.clients import group_consumer, manual_consumer
from parkway.runtime.settings import SettingsError, load_settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PARKWAY_REQUEST_DEADLINE", "inf"),
        ("PARKWAY_REQUEST_DEADLINE", "1e300"),
        ("PARKWAY_DRAIN", "nan"),
        ("PARKWAY_SESSION_TIMEOUT", "-1"),
        ("PARKWAY_CONCURRENCY", "many"),
        ("PARKWAY_KAFKA", "security.protocol=SSL"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name):
        load_settings()


@pytest.mark.parametrize("seconds", [1, 300, 1800])
def test_every_session_timeout_that_the_setting_takes_makes_a_consumer(seconds: float) -> None:
    settings = load_settings(session_timeout=seconds)
    group_consumer(settings, "test", "test").close()
    manual_consumer(settings, "test").close()


def test_topics_that_change_are_noticed_within_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "Consumer", dict)
    name = "topic.metadata.refresh.interval.ms"
    assert group_consumer(load_settings(), "test", "test")[name] == 30_000  # type: ignore[index]
    assert group_consumer(load_settings({name: "500"}), "test", "test")[name] == "500"  # type: ignore[index]
