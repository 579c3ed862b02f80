"""Where triggers answer otherwise than another implementation of CEL, and why.

Each entry recognises its own cases, as narrowly as it can, by what the two said and by the tree. A
difference that no entry recognises is a bug of ours, or a new line here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from differential.oracles import CPP, Outcome

from parkway.router.cel import TriggerLoadError
from parkway.router.cel.errors import CelError
from parkway.router.cel.evaluate import evaluate
from parkway.router.cel.nodes import Constant, Negate, Node, Not, children
from parkway.router.cel.parse import parse


@dataclass(frozen=True)
class Case:
    """One question, our answer and theirs. `said` is the reason of an error, or empty."""

    ours: str
    theirs: str
    event: Mapping[str, Any]
    our_outcome: Outcome
    we_said: str
    their_outcome: Outcome
    they_said: str

    def nodes(self) -> Iterator[Node]:
        try:
            pending = [parse(self.ours)[0]]
        except TriggerLoadError:
            return
        while pending:
            node = pending.pop()
            yield node
            pending.extend(children(node))

    def value(self, node: Node) -> Any:
        """What the node gives for the event; a CelError if that is an error."""
        try:
            return evaluate(node, self.event)
        except CelError as error:
            return error


@dataclass(frozen=True)
class Difference:
    reason: str
    recognises: Callable[[Case], bool]


def _checker_refuses(case: Case) -> bool:
    """An error at load that CEL's own static check finds too; the oracle runs without it."""
    try:
        CPP.compile(case.theirs)
    except Exception:
        return case.we_said.startswith("type: ") and "can never be boolean" not in case.we_said
    return False


def _folded_pairs(case: Case) -> bool:
    for node in case.nodes():
        if isinstance(node, Not) and isinstance(node.operand, Not):
            if not isinstance(case.value(node.operand.operand), bool):
                return True
        elif isinstance(node, Negate) and (
            isinstance(node.operand, Negate) or (isinstance(node.operand, Constant) and isinstance(node.operand.value, int))
        ):
            return True
    return False


CPP_DIFFERENCES = (
    Difference(
        "A regex literal that RE2 does not take is an error at load; C++ finds it when, and if, it is asked.",
        lambda case: case.we_said.startswith("syntax: RE2 does not take the regex"),
    ),
    Difference(
        "An unknown function or a wrong argument count is an error at load, as it is for CEL's static check.",
        _checker_refuses,
    ),
    Difference(
        "Macros are no part of triggers.",
        lambda case: case.we_said.startswith("unsupported: "),
    ),
    Difference(
        "Triggers have limits of their own.",
        lambda case: case.we_said.startswith("limit: "),
    ),
    Difference(
        "C++ drops `!!` and `--` when it parses, so that `!!x` takes what is no boolean.",
        _folded_pairs,
    ),
    Difference(
        "Every bare name is an attribute, so `has(name)` is a guard; in CEL it is an unknown variable.",
        lambda case: "No value with name" in case.they_said or "has() argument must be a field selection" in case.they_said,
    ),
    Difference(
        "C++ does not take a raw string that ends in a backslash (`r'\\'`), which the language has.",
        lambda case: "Invalid string literal: String must end with" in case.they_said
        and re.search(r"[rR][bB]?(['\"]).*\\\1", case.theirs, re.DOTALL) is not None,
    ),
)


def explain(case: Case, known: tuple[Difference, ...]) -> Difference | None:
    """The entry that recognises a case, if the answers differ and any does."""
    return next((difference for difference in known if difference.recognises(case)), None)


