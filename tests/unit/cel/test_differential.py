"""Other implementations of CEL answer alike, or `differential/differences.py` says why not.

`benchmarks/fuzz_triggers.py` runs the same comparison at length.
"""

import json
import random
import re
from pathlib import Path

import pytest
from differential.compare import ORACLES, compare
from differential.differences import CEL_PYTHON_DIFFERENCES, CPP_DIFFERENCES
from differential.generator import FIELDS, case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parkway.router.cel.scan import scan
from parkway.schemas.event_types import EventType

DATA = Path(__file__).parents[1] / "data"


def as_cel(text):
    """A vector's text with its bare names as `attributes.name`, as only triggers have bare names."""
    words = scan(text).words
    for position, word in reversed(words):
        before, after = text[:position].rstrip(), text[position + len(word) :]
        if (
            before.endswith(".")
            or after.lstrip().startswith("(")
            or word in ("true", "false", "null", "in", "id", "attributes")
        ):
            continue
        if text[position] == "`":
            continue
        if constant := re.match(r"\.(\w+)", after) if word == "EventType" else None:
            text = text[:position] + repr(EventType.names().get(constant[1], "?")) + after[constant.end() :]
        else:
            text = text[:position] + ("event_type" if word == "type" else f"attributes.{word}") + after
    return text


@pytest.mark.parametrize("oracle", ORACLES)
def test_they_agree_on_the_vectors(oracle):
    unexplained = []
    for line in (DATA / "cel.jsonl").read_text().splitlines():
        vector = json.loads(line)
        try:
            translated = as_cel(vector["expr"])
        except ValueError:  # what the scan refuses, as some vectors ask
            translated = vector["expr"]
        found = compare(oracle, vector["expr"], translated, vector["event"])
        if found is not None and found[1] is None:
            unexplained.append((found[0].theirs, found[0].our_outcome, found[0].they_said))
    assert not unexplained


@pytest.mark.parametrize("oracle", ORACLES)
def test_they_agree_on_generated_expressions(oracle):
    @settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def check(source):
        found = compare(oracle, *case(source))
        assert found is None or found[1] is not None, found[0]

    check()


def test_the_generator_reaches_everything():
    """Most cases load, true and false are frequent, and every construct is among them."""
    texts = [case(random.Random(seed))[0] for seed in range(1_500)]
    everything = "\n".join(texts)
    for piece in [
        *FIELDS,
        "? ",
        " in ",
        "has(",
        "matches(",
        "timestamp(",
        "duration(",
        "getHours(",
        "uint(",
        "bytes(",
        "{",
        "type(",
    ]:
        assert everything.count(piece) > 20, piece


@pytest.mark.parametrize("table", [CPP_DIFFERENCES, CEL_PYTHON_DIFFERENCES])
def test_no_table_explains_a_wrong_answer(table):
    """`true || x` answered with false is in no table: the entries are not so wide that they hide bugs."""
    from differential.differences import Case, explain

    event = {"id": "1", "type": "a", "attributes": {"x": 1, "s": "a"}}
    for text in (
        "true || attributes.x > 0",
        "attributes.x == 1",
        "attributes.s.startsWith('a')",
        "size(attributes.s) == 1",
    ):
        assert explain(Case(text, text, event, False, "", True, ""), table) is None
