"""What must hold for an expression not to be false: the fields that it compares with constants.

The index of `table.py` files triggers under these. `conditions(tree)[path]` is a set of keys (of
`values.scalar_key`): wherever the path exists and its value has none of the keys, the tree is exactly
false, whatever else it holds, as `&&` absorbs errors.
"""

from typing import Any

from parkway.router.cel.generate import constant_items
from parkway.router.cel.nodes import And, Comparison, Constant, Has, Node, Or, path_of
from parkway.router.cel.values import is_indexable_scalar, scalar_key

Path = tuple[str, ...]


def conditions(node: Node) -> dict[Path, frozenset[Any]]:
    match node:
        case Comparison(operator="==", left=left, right=Constant(value=value)):
            return _condition(left, [value])
        case Comparison(operator="==", left=Constant(value=value), right=right):
            return _condition(right, [value])
        case Comparison(operator="in", left=left, right=right):
            return _condition(left, constant_items(right))
        case And(operands=operands):
            return _narrowest([conditions(operand) for operand in operands])
        case Or(operands=operands):
            return _union([conditions(operand) for operand in operands])
        case _:
            return {}


def is_false_without(node: Node, path: Path) -> bool:
    """Whether the tree is exactly false, and no error, where the path does not exist."""
    match node:
        case Has(operand=Node() as operand, field=field):
            guarded = path_of(operand)
            return guarded is not None and (*guarded, field)[: len(path)] == path
        case And(operands=operands):
            return any(is_false_without(operand, path) for operand in operands)
        case Or(operands=operands):
            return all(is_false_without(operand, path) for operand in operands)
        case _:
            return False


def _condition(operand: Node, constants: list[Any] | None) -> dict[Path, frozenset[Any]]:
    path = path_of(operand)
    if path is None or constants is None or not all(map(is_indexable_scalar, constants)):
        return {}
    return {path: frozenset(map(scalar_key, constants))}


def _narrowest(each: list[dict[Path, frozenset[Any]]]) -> dict[Path, frozenset[Any]]:
    narrowest: dict[Path, frozenset[Any]] = {}
    for one in each:
        for path, keys in one.items():
            if path not in narrowest or len(keys) < len(narrowest[path]):
                narrowest[path] = keys
    return narrowest


def _union(each: list[dict[Path, frozenset[Any]]]) -> dict[Path, frozenset[Any]]:
    first, *others = each
    return {
        path: keys.union(*(other[path] for other in others))
        for path, keys in first.items()
        if all(path in other for other in others)
    }
