"""How large, deep and wide an event from outside may be: one named setting each, and answers in milliseconds."""

import json
import time

import pytest

from parkway.schemas import jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.jsonio import JsonError
from parkway.schemas.limits import Limits
from parkway.schemas.plan import ActionPlan, Plan, PlanError

SMALL = Limits(max_event_bytes=1000, max_event_depth=5, max_string_chars=50, max_members=10)


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    ("fits", "beyond", "reason", "message"),
    [
        (
            b"1" + b" " * 999,
            b"1" + b" " * 1000,
            DlqReason.TOO_LARGE,
            r"1001 bytes, the limit is 1000 \(max_event_bytes\)",
        ),
        (nested(5), nested(6), DlqReason.TOO_DEEP, r"nested deeper than 5 levels \(max_event_depth\)"),
        (
            json.dumps({"a": ["é" * 50]}).encode(),
            json.dumps({"a": ["é" * 51]}).encode(),
            DlqReason.TOO_LARGE,
            r"a string of 51 characters, the limit is 50 \(max_string_chars\)",
        ),
        (
            json.dumps({"k" * 50: 1}).encode(),
            json.dumps({"k" * 51: 1}).encode(),
            DlqReason.TOO_LARGE,
            "a string of 51 characters",
        ),
        (
            json.dumps([{str(i): i for i in range(10)}] * 9).encode(),
            json.dumps([{str(i): i for i in range(11)}]).encode(),
            DlqReason.TOO_LARGE,
            r"a map of 11 members, the limit is 10 \(max_members\)",
        ),
        (
            json.dumps([[0] * 10, ",,,,,,,,,,,,"]).encode(),
            json.dumps([[0] * 11]).encode(),
            DlqReason.TOO_LARGE,
            "a list of 11 members",
        ),
    ],
)
def test_limit_is_exact_and_named(fits, beyond, reason, message):
    assert jsonio.loads_limited(fits, SMALL) == json.loads(fits)
    with pytest.raises(JsonError, match=message) as failure:
        jsonio.loads_limited(beyond, SMALL)
    assert failure.value.reason is reason


HOSTILE = {
    "10,000 levels in a megabyte": b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b" " * 930_000,
    "500,000 levels": b"[" * 499_999 + b"]" * 499_999,
    "never closed": b"[" * 999_999,
    "500,000 members": b"[" + b"0," * 499_000 + b"0]",
    "70,000 keys": json.dumps({f"k{i}": [] for i in range(70_000)}).encode(),
    "a string without an end": b'["' + b"\\" * 999_000,
    "repeated keys": b"{" + b'"a":{},' * 140_000 + b'"a":1}',
    "digits": b"1" * 999_999,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_megabyte_gets_its_answer_at_once(name):
    data = HOSTILE[name]
    assert len(data) <= Limits().max_event_bytes
    refused, seconds = zip(*(attempt(data) for _ in range(3)), strict=True)
    assert min(seconds) < 1.0  # tens of milliseconds on an idle machine; minutes if anything here were quadratic
    assert set(refused) == {name not in {"70,000 keys", "repeated keys"}}


def attempt(data: bytes) -> tuple[bool, float]:
    """Whether `data` was refused, and the seconds that it took."""
    started = time.process_time()
    try:
        jsonio.loads_limited(data, Limits())
    except JsonError:
        return True, time.process_time() - started
    return False, time.process_time() - started


def plan(**policies: int) -> Plan:
    return Plan(agent="a:A", actions=(ActionPlan(name="one", triggers=("t",)),), **policies)


def test_each_limit_is_a_setting_of_the_plan():
    assert plan().limits == Limits()
    named = {"max_event_bytes": 5000, "max_event_depth": 7, "max_string_chars": 200, "max_members": 20}
    assert plan(**named).limits == Limits(**named)
    assert set(Limits.__slots__) == named.keys()
    with pytest.raises(PlanError, match="max_event_depth"):  # workers read no deeper
        Plan.from_json(plan().to_json().replace(b'"max_event_depth": 100', b'"max_event_depth": 101'))
