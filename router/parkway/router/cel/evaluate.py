"""The exact evaluator: CEL's three-valued logic over the tree.

It answers when the generated code of `generate.py` raises, and explains sub-expressions. An error is a
raised `CelError`; `&&`, `||` and `has` are the only ones that catch it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from parkway.router.cel import arithmetic, values
from parkway.router.cel.errors import CelError
from parkway.router.cel.functions import FUNCTIONS
from parkway.router.cel.nodes import (
    And,
    Arithmetic,
    Call,
    Comparison,
    Conditional,
    Constant,
    Event,
    Has,
    Index,
    ListOf,
    MapOf,
    Negate,
    Node,
    Not,
    Or,
    Select,
)

COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": values.equals,
    "!=": values.not_equals,
    "<": values.less,
    "<=": values.less_or_equal,
    ">": values.greater,
    ">=": values.greater_or_equal,
    "in": values.contains_item,
}
ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "%": arithmetic.remainder,
}


def evaluate(node: Node, event: Mapping[str, Any]) -> Any:
    """The CEL value of a node.

    Raises:
        CelError: the value is an error.

    """
    match node:
        case Constant(value=value):
            return value
        case Event(part=part):
            return _event_part(event, part)
        case Select(operand=operand, field=field):
            return values.field(evaluate(operand, event), field)
        case Index(operand=operand, index=index):
            return values.item(evaluate(operand, event), evaluate(index, event))
        case Comparison(operator=operator, left=left, right=right):
            return COMPARISONS[operator](evaluate(left, event), evaluate(right, event))
        case Arithmetic(operator=operator, left=left, right=right):
            return ARITHMETIC[operator](evaluate(left, event), evaluate(right, event))
        case And(operands=operands):
            return _absorb(operands, event, decides=False)
        case Or(operands=operands):
            return _absorb(operands, event, decides=True)
        case Not(operand=operand):
            return not boolean(evaluate(operand, event))
        case Negate(operand=operand):
            return arithmetic.negate(evaluate(operand, event))
        case Has(operand=has_operand, field=field):
            return _has(has_operand, field, event)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return evaluate(then if boolean(evaluate(condition, event)) else otherwise, event)
        case Call(function=function, arguments=arguments):
            return FUNCTIONS[function].call(*(evaluate(argument, event) for argument in arguments))
        case ListOf(items=items):
            return [evaluate(item, event) for item in items]
        case MapOf(entries=entries):
            return values.new_map([(evaluate(key, event), evaluate(value, event)) for key, value in entries])
        case _:
            raise AssertionError(node)


def boolean(value: Any) -> bool:
    """The value itself, if it is a boolean."""
    if isinstance(value, bool):
        return value
    raise CelError(f"{values.type_name(value)} is no boolean")


def _event_part(event: Mapping[str, Any], part: str) -> Any:
    if part == "attributes":
        return event.get("attributes", {})
    if part not in event:
        raise CelError(f"the event has no {part}")
    return event[part]


def _absorb(operands: tuple[Node, ...], event: Mapping[str, Any], *, decides: bool) -> bool:
    """`false` decides `&&`, `true` decides `||`, in any order; only without it an error counts."""
    first_error: CelError | None = None
    for operand in operands:
        try:
            if boolean(evaluate(operand, event)) is decides:
                return decides
        except CelError as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error
    return not decides


def _has(operand: Node | None, field: str, event: Mapping[str, Any]) -> bool:
    if operand is None:
        return field == "attributes" or field in event
    try:
        return values.has_field(evaluate(operand, event), field)
    except CelError:
        return False
