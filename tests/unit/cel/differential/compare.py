"""One case, asked of us and of an oracle."""

from collections.abc import Mapping
from typing import Any

from differential.differences import CEL_PYTHON_DIFFERENCES, CPP_DIFFERENCES, Case, Difference, explain
from differential.oracles import Answer, cel_python, cpp, ours

ORACLES: dict[str, tuple[Answer, tuple[Difference, ...]]] = {
    "C++": (cpp, CPP_DIFFERENCES),
    "cel-python": (cel_python, CEL_PYTHON_DIFFERENCES),
}


def compare(
    oracle: str, as_trigger: str, as_cel: str, event: Mapping[str, Any]
) -> tuple[Case, Difference | None] | None:
    """None where both agree; else the case, and the entry of the table that explains it, if one does."""
    answer, table = ORACLES[oracle]
    case = Case(as_trigger, as_cel, event, *ours(as_trigger, event), *answer(as_cel, event))
    if case.our_outcome == case.their_outcome:
        return None
    return case, explain(case, table)
