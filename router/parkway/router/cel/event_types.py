"""Which event types can make an expression true. `None` stands for all of them."""

from parkway.router.cel.generate import constant_items
from parkway.router.cel.nodes import And, Comparison, Conditional, Constant, Event, Node, Not, Or

Types = frozenset[str] | None


def possible_types(node: Node, *, result: bool = True) -> Types:
    """The event types for which the node can be `result`: maybe too many, never too few."""
    match node:
        case Comparison(operator="==" | "!=" as operator):
            return _named(node) if (operator == "==") is result else None
        case Comparison(operator="in", left=Event(part="type")) if result:
            return _listed(node.right)
        case Not(operand=operand):
            return possible_types(operand, result=not result)
        case And(operands=operands) | Or(operands=operands):
            each = [possible_types(operand, result=result) for operand in operands]
            # A conjunction is true when all are, false when one is; a disjunction the other way round.
            return _intersection(each) if isinstance(node, And) is result else _union(each)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return _union(
                [
                    _intersection([possible_types(condition, result=decision), possible_types(branch, result=result)])
                    for decision, branch in ((True, then), (False, otherwise))
                ]
            )
        case _:
            return None


def _named(node: Comparison) -> Types:
    match node.left, node.right:
        case (Event(part="type"), Constant(value=value)) | (Constant(value=value), Event(part="type")):
            return frozenset({value} if isinstance(value, str) else ())
        case _:
            return None


def _listed(node: Node) -> Types:
    items = constant_items(node)
    return None if items is None else frozenset(item for item in items if isinstance(item, str))


def _intersection(each: list[Types]) -> Types:
    known = [types for types in each if types is not None]
    return frozenset.intersection(*known) if known else None


def _union(each: list[Types]) -> Types:
    known = [types for types in each if types is not None]
    return frozenset().union(*known) if len(known) == len(each) else None
