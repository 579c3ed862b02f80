"""Timestamps and durations."""

import pytest

T = "timestamp('2024-01-02T03:04:05.678Z')"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f"{T}.getFullYear() == 2024 && {T}.getMonth() == 0 && {T}.getDate() == 2", True),
        (f"{T}.getDayOfMonth() == 1 && {T}.getDayOfWeek() == 2 && {T}.getDayOfYear() == 1", True),
        (f"{T}.getHours() == 3 && {T}.getMinutes() == 4 && {T}.getSeconds() == 5", True),
        (f"{T}.getMilliseconds() == 678", True),
        (f"{T}.getHours('Europe/Berlin') == 4 && {T}.getHours('-05:30') == 21", True),
        (f"{T}.getHours('Nowhere/None') == 4", "error"),
        (f"{T}.getHours('../../etc/passwd') == 4", "error"),
        (f"{T} < timestamp('2024-01-02T03:04:05.679Z') && {T} == timestamp('2024-01-02T04:04:05.678+01:00')", True),
        (f"{T} - duration('1h') == timestamp('2024-01-02T02:04:05.678Z')", True),
        (f"{T} - timestamp(0) > duration('473000h')", True),
        (f"{T} < duration('1h')", "error"),
        (f"{T} == duration('1h')", False),
        (f"string({T}) == '2024-01-02T03:04:05.678Z' && int({T}) == 1704164645", True),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s') > timestamp(0)", "error"),
        ("timestamp('2024-02-30T00:00:00Z') > timestamp(0)", "error"),
        ("timestamp('2024-01-02') > timestamp(0)", "error"),
        ("timestamp(253402300800) > timestamp(0)", "error"),
        ("duration('1h30m') == duration('90m') && duration('-1.5s') == duration('-1500ms')", True),
        ("duration('3730.5s').getHours() == 1 && duration('3730.5s').getMinutes() == 62", True),
        ("duration('3730.5s').getSeconds() == 3730 && duration('3730.5s').getMilliseconds() == 500", True),
        ("duration('-90s').getMinutes() == -1", True),
        ("string(duration('1h30m')) == '5400s' && string(duration('-1.5s')) == '-1.500s'", True),
        ("duration('1d') > duration('0')", "error"),
        ("duration('') == duration('0')", "error"),
        ("duration('320000000000s') > duration('0')", "error"),
        ("-duration('1s') < duration('0')", "error"),
        ("s < '2025' && timestamp(s) < timestamp('2025-01-01T00:00:00Z')", True),
    ],
)
def test_they_are(text, result, ask):
    assert ask(text, s="2024-06-01T00:00:00Z") == result
