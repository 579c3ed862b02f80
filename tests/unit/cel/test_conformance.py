"""CEL's own conformance tests, those that ask something of JSON values.

From github.com/google/cel-spec (Apache-2.0), `tests/simple/testdata`, with each expected value written as a
comparison. Left out is what triggers do not have: messages, macros, extensions, names of types as values.
"""

import json
from pathlib import Path

import pytest

from parkway.router.cel import TriggerEvaluationError, TriggerLoadError, compile_expression
from parkway.router.cel.errors import CelError
from parkway.router.cel.evaluate import boolean, evaluate

TESTS = [json.loads(line) for line in (Path(__file__).parent / "data" / "cel_spec.jsonl").read_text().splitlines()]


def _generated(text, event):
    return compile_expression(text).evaluate(event)


def _exact(text, event):
    return boolean(evaluate(compile_expression(text).tree, event))


@pytest.mark.parametrize("answer", [_generated, _exact])
def test_every_one_holds(answer):
    wrong = []
    for test in TESTS:
        try:
            got = answer(test["expr"], {"id": "1", "type": "t", "attributes": test["attributes"]})
        except (TriggerLoadError, TriggerEvaluationError, CelError):
            got = "error"
        if got is not test["expect"] and got != test["expect"]:
            wrong.append((test["name"], test["expr"], got, test["expect"]))
    assert len(TESTS) == 1009
    assert not wrong
