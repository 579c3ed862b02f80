"""The conformance vectors: the CEL spec's own and ours, over JSON events."""

import json
from pathlib import Path

import pytest

from parkway.router.cel import TriggerEvaluationError, TriggerLoadError, compile_expression
from parkway.router.cel.errors import CelError
from parkway.router.cel.evaluate import boolean, evaluate

VECTORS = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "cel.jsonl").read_text().splitlines()]


def _generated(vector):
    return compile_expression(vector["expr"]).evaluate(vector["event"])


def _exact(vector):
    return boolean(evaluate(compile_expression(vector["expr"]).tree, vector["event"]))


@pytest.mark.parametrize("answer", [_generated, _exact])
def test_every_vector_holds(answer):
    wrong = []
    for vector in VECTORS:
        try:
            got = answer(vector)
        except (TriggerLoadError, TriggerEvaluationError, CelError):
            got = "error"
        if got is not vector["expect"] and got != vector["expect"]:
            wrong.append((vector["expr"], vector["event"].get("attributes"), vector["expect"], got))
    assert len(VECTORS) == 1602
    assert not wrong
