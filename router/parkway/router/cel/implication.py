"""What follows from what: `implies(a, b)` and `never_true(node)`, for lint.

Both are sound and not complete: True is a proof over all events, False means that none was found. A trigger
is never rewritten on their word, only its author is told.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from parkway.router.cel.errors import CelError
from parkway.router.cel.evaluate import COMPARISONS
from parkway.router.cel.generate import MIRRORED, constant_items
from parkway.router.cel.nodes import (
    And,
    Arithmetic,
    Call,
    Comparison,
    Conditional,
    Constant,
    Has,
    Index,
    Negate,
    Node,
    Not,
    Or,
    Select,
    children,
    path_of,
)
from parkway.router.cel.values import is_indexable_scalar
from parkway.router.cel.write import write

Path = tuple[str, ...]

_MOST_PAIRS: Final = 20_000  # of sub-expressions: a proof takes time in proportion to them
_LOWER: Final = frozenset({">", ">="})
_UPPER: Final = frozenset({"<", "<="})


@dataclass(frozen=True, slots=True)
class _Fact:
    """A field and constants: `path in constants` (also `==`), `path != constant`, `path < constant` ..."""

    path: Path
    operator: str
    constants: tuple[Any, ...]


def implies(premise: Node, conclusion: Node) -> bool:
    """Whether the conclusion is true for every event for which the premise is true."""
    if size(premise) * size(conclusion) > _MOST_PAIRS:
        return False
    return _Proof().implies(premise, conclusion)


def never_true(node: Node) -> bool:
    """Whether there is no event for which the node is true."""
    match node:
        case Constant(value=value):
            return value is not True
        case And():
            conjuncts = list(_conjuncts(node))
            return any(map(never_true, conjuncts)) or _contradictory(conjuncts)
        case Or(operands=operands):
            return all(map(never_true, operands))
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return (never_true(then) or never_true(condition)) and never_true(otherwise)
        case _:
            return False


def size(node: Node) -> int:
    """The number of nodes in a tree."""
    return 1 + sum(map(size, children(node)))


class _Proof:
    """Remembers what it has proved, and the texts that it compared."""

    def __init__(self) -> None:
        self.proved: dict[tuple[int, int], bool] = {}
        self.texts: dict[int, str] = {}

    def implies(self, premise: Node, conclusion: Node) -> bool:
        pair = (id(premise), id(conclusion))
        if pair not in self.proved:
            self.proved[pair] = self.prove(premise, conclusion)
        return self.proved[pair]

    def prove(self, premise: Node, conclusion: Node) -> bool:
        if self.text(premise) == self.text(conclusion) or (
            isinstance(conclusion, Constant) and conclusion.value is True
        ):
            return True
        if isinstance(premise, Or):
            return all(self.implies(alternative, conclusion) for alternative in premise.operands)
        if isinstance(conclusion, And):
            return all(self.implies(premise, conjunct) for conjunct in conclusion.operands)
        if isinstance(conclusion, Or) and any(self.implies(premise, each) for each in conclusion.operands):
            return True
        if isinstance(premise, And):
            return any(self.implies(conjunct, conclusion) for conjunct in premise.operands)
        if isinstance(conclusion, Has) and (path := _path_of_has(conclusion)) is not None:
            return any(read[: len(path)] == path for read in _paths_read(premise))
        known, wanted = _fact(premise), _fact(conclusion)
        return known is not None and wanted is not None and _follows(known, wanted)

    def text(self, node: Node) -> str:
        if id(node) not in self.texts:
            self.texts[id(node)] = write(node)
        return self.texts[id(node)]


def _conjuncts(node: Node) -> Iterator[Node]:
    if not isinstance(node, And):
        yield node
        return
    for operand in node.operands:
        yield from _conjuncts(operand)


def _contradictory(conjuncts: list[Node]) -> bool:
    texts = {write(conjunct) for conjunct in conjuncts}
    absent = set()
    for conjunct in conjuncts:
        if isinstance(conjunct, Not):
            if write(conjunct.operand) in texts:
                return True
            if isinstance(conjunct.operand, Has):
                absent.add(_path_of_has(conjunct.operand))
    facts: dict[Path, list[_Fact]] = {}
    for conjunct in conjuncts:
        if (fact := _fact(conjunct)) is not None:
            facts.setdefault(fact.path, []).append(fact)
    if any(path[:length] in absent for path in facts for length in range(1, len(path) + 1)):
        return True
    return any(
        _exclude(one, other) for each in facts.values() for number, one in enumerate(each) for other in each[:number]
    )


def _fact(node: Node) -> _Fact | None:
    match node:
        case Comparison(operator="in", left=left, right=right):
            return _made(left, "in", constant_items(right))
        case Comparison(operator=operator, left=left, right=Constant(value=value)):
            return _made(left, operator, [value])
        case Comparison(operator=operator, left=Constant(value=value), right=right) if operator in MIRRORED:
            return _made(right, MIRRORED[operator], [value])
        case _:
            return None


def _made(operand: Node, operator: str, constants: list[Any] | None) -> _Fact | None:
    path = path_of(operand)
    if path is None or constants is None or not all(map(is_indexable_scalar, constants)):
        return None
    return _Fact(path, "in" if operator == "==" else operator, tuple(constants))


def _follows(known: _Fact, wanted: _Fact) -> bool:
    """Both are about one constant, or one of them about a set of them."""
    if known.path != wanted.path:
        return False
    if known.operator == "in":
        return all(_holds(constant, wanted) for constant in known.constants)
    bound = wanted.constants[0] if wanted.constants else None
    if wanted.operator == "!=":
        return known.operator != "!=" and not _holds(bound, known)
    for side in (_LOWER, _UPPER):
        if known.operator in side and wanted.operator in side:
            # The known bound decides: itself, or, where the known comparison leaves it out, all beyond it.
            inclusive = _Fact(wanted.path, f"{wanted.operator[0]}=", wanted.constants)
            return _holds(known.constants[0], inclusive if len(known.operator) == 1 else wanted)
    return False


def _exclude(one: _Fact, other: _Fact) -> bool:
    for this, that in ((one, other), (other, one)):
        if this.operator == "in":
            return not any(_holds(constant, that) for constant in this.constants)
    for lower, upper in ((one, other), (other, one)):
        if lower.operator in _LOWER and upper.operator in _UPPER:
            strict = len(lower.operator) + len(upper.operator) < len(">=<=")
            return not _holds(lower.constants[0], _Fact(upper.path, "<" if strict else "<=", upper.constants))
    return False


def _holds(constant: Any, fact: _Fact) -> bool:
    """Whether the fact holds for a field with this value."""
    if fact.operator == "in":
        return any(COMPARISONS["=="](constant, each) for each in fact.constants)
    try:
        return COMPARISONS[fact.operator](constant, fact.constants[0])
    except CelError:
        return False


def _path_of_has(node: Has) -> Path | None:
    path = path_of(node.operand) if node.operand is not None else None
    return None if path is None else (*path, node.field)


def _paths_read(node: Node) -> Iterator[Path]:
    """The fields that exist whenever the node has a value."""
    if (path := path_of(node)) is not None:
        yield path
        return
    match node:
        case Comparison() | Call() | Arithmetic() | Negate() | Not() | Index() | Select():
            for child in children(node):
                yield from _paths_read(child)
