"""Flink Agents' own conformance cases: the same entry is the same trigger here.

From github.com/apache/flink-agents (Apache-2.0): `trigger_condition_conformance.json` and
`cel_conformance_cases.yaml`, without the one case that is another here by design (`attributes[key]` loads).
"""

import json
from pathlib import Path

import pytest

from parkway.router.cel import TriggerLoadError, compile_trigger

CASES = [json.loads(line) for line in (Path(__file__).parent / "data" / "flink_agents.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_it_is_the_same(case):
    if not case["loads"]:
        with pytest.raises(TriggerLoadError):
            compile_trigger(case["entry"])
        return
    trigger = compile_trigger(case["entry"])
    assert trigger.kind == case["kind"]
    if case["fires"] is not None:
        assert trigger.evaluate(case["event"]) is case["fires"]
