"""A compiled CEL expression: the language alone, where a bare name is a field."""

from collections.abc import Mapping
from typing import Any

from parkway.router.cel.check import Checker
from parkway.router.cel.errors import CelError, TriggerEvaluationError, TriggerLoadError
from parkway.router.cel.evaluate import boolean, evaluate
from parkway.router.cel.generate import Compiled, generate
from parkway.router.cel.nodes import Constant, Event, Has, Index, Node, Select, children
from parkway.router.cel.parse import parse


class Expression:
    """A boolean CEL expression over an event. Immutable, and safe to share between threads.

    `text` is the source, `tree` its nodes, `warnings` what it loads with but should be written otherwise.
    `attribute_names` are the attributes that it reads by name: `n`, `attributes.n`, `attributes['n']`.

    `evaluate(event)` gives the result for an event in JSON form, `{"id": str, "type": str, "attributes":
    dict}`. It raises `TriggerEvaluationError` where there is no boolean result: a missing field, a type that
    has no such operator, a result of another type, unless `&&`, `||` or `has` absorbs it. It is the
    generated function itself, as one more call would cost as much as a comparison.
    """

    evaluate: Compiled

    def __init__(self, text: str) -> None:
        tree, found = parse(text)
        checker = Checker(text)
        checker.check(tree)
        self.text = text
        self.tree = tree
        self.warnings = tuple(found.warnings)
        self.attribute_names = frozenset(_attribute_names(tree))
        self.evaluate = generate(tree, checker.kinds, self._evaluate_exactly)

    def _evaluate_exactly(self, event: Mapping[str, Any]) -> bool:
        try:
            return boolean(evaluate(self.tree, event))
        except CelError as error:
            raise TriggerEvaluationError(self.text, str(error)) from error
        except RecursionError as error:
            raise TriggerEvaluationError(self.text, "a value is nested too deeply to compare") from error

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def compile_expression(text: str) -> Expression:
    """Compile a boolean CEL expression (DESIGN 5.3).

    Raises:
        TriggerLoadError: it is no such expression; the message shows where and what to write instead.

    """
    if not isinstance(text, str):
        raise TriggerLoadError("syntax", f"an expression is text, not {type(text).__name__}", repr(text))
    if not text.strip():
        raise TriggerLoadError("syntax", "the expression is blank: write one, as in `amount > 100`", text)
    try:
        return Expression(text)
    except RecursionError as error:
        raise TriggerLoadError("limit", "the expression is nested too deeply: split it", text) from error


def _attribute_names(node: Node) -> set[str]:
    names = {name for child in children(node) for name in _attribute_names(child)}
    match node:
        case Select(operand=Event(part="attributes"), field=name):
            names.add(name)
        case Has(operand=Event(part="attributes"), field=name):
            names.add(name)
        case Index(operand=Event(part="attributes"), index=Constant(value=str() as name)):
            names.add(name)
    return names
