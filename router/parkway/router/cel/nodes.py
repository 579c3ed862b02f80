"""The tree of an expression. Names are resolved: a bare `n` is already `attributes.n`.

Every node knows `position`, the offset of its first character (or of its operator) in the text.
"""

from dataclasses import dataclass
from typing import Any, Literal

EventPart = Literal["id", "type", "attributes"]
ComparisonOperator = Literal["==", "!=", "<", "<=", ">", ">=", "in"]
ArithmeticOperator = Literal["+", "-", "*", "/", "%"]


@dataclass(frozen=True, slots=True)
class Node:
    position: int


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal, or `EventType.X`: its CEL value (see `values.py`)."""

    value: Any


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    entries: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Event(Node):
    """`id`, `type` or the map `attributes` of the event itself."""

    part: EventPart


@dataclass(frozen=True, slots=True)
class Select(Node):
    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    operand: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Has(Node):
    """`has(operand.field)`; for `has(id)`, `has(type)`, `has(attributes)` the operand is None."""

    operand: Node | None
    field: str


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Node


@dataclass(frozen=True, slots=True)
class Negate(Node):
    operand: Node


@dataclass(frozen=True, slots=True)
class And(Node):
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    operator: ComparisonOperator
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    operator: ArithmeticOperator
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`function(arguments)`; a receiver, as in `s.size()`, is the first argument."""

    function: str
    arguments: tuple[Node, ...]
    receiver: bool


def path_of(node: Node) -> tuple[str, ...] | None:
    """The names from the event down to a field, as in `("attributes", "order", "id")`; None for all else."""
    steps: list[str] = []
    while True:
        match node:
            case Event(part=part):
                return (part, *reversed(steps))
            case Select(operand=operand, field=field):
                steps.append(field)
                node = operand
            case Index(operand=operand, index=Constant(value=str() as field)):
                steps.append(field)
                node = operand
            case _:
                return None


def children(node: Node) -> tuple[Node, ...]:
    """The sub-expressions of a node, from left to right."""
    match node:
        case ListOf(items=items):
            return items
        case MapOf(entries=entries):
            return tuple(part for entry in entries for part in entry)
        case Index(operand=operand, index=index):
            return (operand, index)
        case Has(operand=Node() as operand) | Select(operand=operand) | Not(operand=operand):
            return (operand,)
        case Negate(operand=operand):
            return (operand,)
        case And(operands=operands) | Or(operands=operands):
            return operands
        case Comparison(left=left, right=right) | Arithmetic(left=left, right=right):
            return (left, right)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Call(arguments=arguments):
            return arguments
        case _:
            return ()
