"""Text to nodes: the grammar's tree, with names resolved and literals read."""

import re
from difflib import get_close_matches
from typing import Any, Final

from lark import Token, Tree

from parkway.router.cel.errors import TriggerLoadError, shortened
from parkway.router.cel.functions import MACROS
from parkway.router.cel.grammar import parse_mask
from parkway.router.cel.nodes import (
    And,
    Arithmetic,
    ArithmeticOperator,
    Call,
    Comparison,
    ComparisonOperator,
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
from parkway.router.cel.scan import Scan, scan
from parkway.router.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt
from parkway.schemas.event_types import EventType

_MAX_DEPTH: Final = 100  # operators in a row, and brackets; `a && b && ...` and `a || b || ...` count once
_MOST_DIGITS: Final = 25
RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_COMPARISONS: Final[dict[str, ComparisonOperator]] = {
    "relation_lt": "<",
    "relation_le": "<=",
    "relation_gt": ">",
    "relation_ge": ">=",
    "relation_eq": "==",
    "relation_ne": "!=",
    "relation_in": "in",
}
_ARITHMETIC: Final[dict[str, ArithmeticOperator]] = {
    "addition_add": "+",
    "addition_sub": "-",
    "multiplication_mul": "*",
    "multiplication_div": "/",
    "multiplication_mod": "%",
}


def parse(text: str) -> tuple[Node, Scan]:
    """The tree of an expression, with what the scan found.

    Raises:
        TriggerLoadError: `syntax`, `limit`, `unsupported` (macros, messages) or `unknown-event-type`.

    """
    found = scan(text)
    return _Reader(text, found).read(parse_mask(text, found), 0), found


class _Reader:
    """Turns the grammar's tree into nodes. `depth` bounds every later recursion over the tree."""

    def __init__(self, text: str, found: Scan) -> None:
        self.text = text
        self.found = found

    def read(self, tree: Any, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self.error(
                "limit",
                f"more than {_MAX_DEPTH} operators in a row or inside each other: split the expression",
                _start(tree),
            )
        rule = str(tree.data)
        if rule in ("conditionaland", "conditionalor"):
            return self.chain(tree, rule, depth + 1)
        if rule in ("relation", "addition", "multiplication"):
            return self.binary(tree, depth + 1)
        reader = getattr(self, f"read_{rule}", None)
        assert reader is not None, f"the grammar has no rule {rule}"
        node: Node = reader(tree, depth + 1)
        return node

    def chain(self, tree: Any, rule: str, depth: int) -> Node:
        """`a && b && c` is one node, however long."""
        operands: list[Any] = []
        while isinstance(tree, Tree) and tree.data == rule:
            left, right = tree.children
            operands.append(right)
            tree = left
        operands.append(tree)
        nodes = tuple(self.read(operand, depth) for operand in reversed(operands))
        return (And if rule == "conditionaland" else Or)(nodes[0].position, nodes)

    def binary(self, tree: Any, depth: int) -> Node:
        operation, right_tree = tree.children
        left = self.read(operation.children[0], depth)
        right = self.read(right_tree, depth)
        rule = str(operation.data)
        if rule in _COMPARISONS:
            return Comparison(left.position, _COMPARISONS[rule], left, right)
        return Arithmetic(left.position, _ARITHMETIC[rule], left, right)

    def read_expr(self, tree: Any, depth: int) -> Node:
        condition, then, otherwise = (self.read(child, depth) for child in tree.children)
        return Conditional(condition.position, condition, then, otherwise)

    def read_unary(self, tree: Any, depth: int) -> Node:
        operator, operand_tree = tree.children
        if operator.data == "unary_neg" and (number := self.negated_literal(operand_tree)) is not None:
            return number
        operand = self.read(operand_tree, depth)
        kind = Not if operator.data == "unary_not" else Negate
        # The operator itself leaves no token behind.
        return kind(max(0, operand.position - 1), operand)

    def negated_literal(self, tree: Any) -> Node | None:
        """`- 9223372036854775808` is a literal: its positive half alone would overflow."""
        if tree.data != "literal" or tree.children[0].type != "INT_LIT":
            return None
        token = tree.children[0]
        return None if token.startswith("-") else self.integer(token, f"-{token}")

    def read_paren_expr(self, tree: Any, depth: int) -> Node:
        return self.read(tree.children[0], depth)

    def read_literal(self, tree: Any, _depth: int) -> Node:
        token = tree.children[0]
        position = _at(token)
        match token.type:
            case "BOOL_LIT":
                return Constant(position, token.value.startswith("t"))
            case "NULL_LIT":
                return Constant(position, None)
            case "INT_LIT":
                return self.integer(token, str(token))
            case "UINT_LIT":
                return self.unsigned(token)
            case "FLOAT_LIT":
                return self.double(token)
            case _:
                return Constant(position, self.found.literals[position])

    def integer(self, token: Token, digits: str) -> Constant:
        value = _whole_number(digits)
        if value is None or not INT_MIN <= value <= INT_MAX:
            reason = f"{shortened(digits)} does not fit into int64: write it with `.0` for a double"
            raise self.error("syntax", reason, _at(token))
        return Constant(_at(token), value)

    def unsigned(self, token: Token) -> Node:
        digits = token[:-1].removeprefix("-")
        value = _whole_number(digits)
        if value is None or value > UINT_MAX:
            raise self.error("syntax", f"{shortened(token)} does not fit into uint64", _at(token))
        number = Constant(_at(token), UInt(value))
        return Negate(_at(token), number) if token.startswith("-") else number

    def double(self, token: Token) -> Constant:
        if re.search(r"\.(?![0-9])", token):
            raise self.error("syntax", f"{shortened(token)} has no digit after the dot: write 1.0", _at(token))
        return Constant(_at(token), float(token))

    def read_list_lit(self, tree: Any, depth: int) -> Node:
        items = tree.children[0].children if tree.children else []
        return ListOf(_start(tree), tuple(self.read(item, depth) for item in items))

    def read_map_lit(self, tree: Any, depth: int) -> Node:
        parts = [self.read(part, depth) for part in (tree.children[0].children if tree.children else [])]
        return MapOf(_start(tree), tuple(zip(parts[::2], parts[1::2], strict=True)))

    def read_ident(self, tree: Any, _depth: int) -> Node:
        token = tree.children[0]
        position = _at(token)
        if position in self.found.quoted_names:
            raise self.error("syntax", "a name in backticks only follows a dot", position)
        if token in RESERVED:
            raise self.error("syntax", f"`{token}` is reserved in CEL: write attributes.{token}", position)
        if token in ("id", "type", "attributes"):
            return Event(position, str(token))  # type: ignore[arg-type]
        return Select(position, Event(position, "attributes"), str(token))

    read_dot_ident = read_ident

    def read_member_dot(self, tree: Any, depth: int) -> Node:
        operand_tree, token = tree.children
        if operand_tree.data == "ident" and operand_tree.children[0] == "EventType":
            return self.event_type(_at(operand_tree.children[0]), token)
        operand = self.read(operand_tree, depth)
        name = self.found.quoted_names.get(_at(token), str(token))
        return Select(operand.position, operand, name)

    def event_type(self, position: int, token: Token) -> Constant:
        names = EventType.names()
        if token in names:
            return Constant(position, names[token])
        close = get_close_matches(token, names, n=1)
        way_out = f"did you mean {close[0]}?" if close else f"known are {', '.join(sorted(names))}"
        raise self.error("unknown-event-type", f"unknown EventType.{shortened(token)} ({way_out})", _at(token))

    def read_member_index(self, tree: Any, depth: int) -> Node:
        operand, index = (self.read(child, depth) for child in tree.children)
        return Index(operand.position, operand, index)

    def read_member_object(self, tree: Any, _depth: int) -> Node:
        raise self.error("unsupported", "messages do not exist here: write a map, as in {'a': 1}", _start(tree))

    def read_ident_arg(self, tree: Any, depth: int) -> Node:
        token, *rest = tree.children
        trees = rest[0].children if rest else []
        if token.value == "has":
            return self.has(token, trees, depth)
        self.refuse_macro(token)
        return Call(_at(token), str(token), self.arguments(trees, depth), receiver=False)

    read_dot_ident_arg = read_ident_arg

    def read_member_dot_arg(self, tree: Any, depth: int) -> Node:
        operand_tree, token, *rest = tree.children
        self.refuse_macro(token)
        receiver = self.read(operand_tree, depth)
        arguments = self.arguments(rest[0].children if rest else [], depth)
        return Call(_at(token), str(token), (receiver, *arguments), receiver=True)

    def arguments(self, trees: list[Any], depth: int) -> tuple[Node, ...]:
        return tuple(self.read(tree, depth) for tree in trees)

    def refuse_macro(self, token: Token) -> None:
        if token in MACROS:
            raise self.error("unsupported", f"the macro `{token}` is not part of triggers: {MACROS[token]}", _at(token))

    def has(self, token: Token, trees: list[Any], depth: int) -> Node:
        if len(trees) != 1:
            raise self.error("type", "`has` takes one field, as in has(a.b)", _at(token))
        match self.read(trees[0], depth):
            case Select(operand=operand, field=field):
                return Has(_at(token), operand, field)
            case Event(part=part):
                return Has(_at(token), None, part)
            case Index(index=Constant(value=str() as key)):
                way_out = f"write `{key!r} in x` for x[{key!r}]"
            case _:
                way_out = "write has(a.b) or has(name)"
        raise self.error("type", f"`has` takes a field: {way_out}", _at(token))

    def error(self, stage: Any, reason: str, position: int) -> TriggerLoadError:
        return TriggerLoadError(stage, reason, self.text, position)


def _whole_number(digits: str) -> int | None:
    """None if it is far too long for any integer: Python would refuse to read it."""
    if len(digits.lstrip("-0")) > _MOST_DIGITS:
        return None
    return int(digits, 16 if "x" in digits else 10)


def _start(tree: Any) -> int:
    """The position of the first token below a tree; its brackets leave none."""
    while isinstance(tree, Tree):
        children = [child for child in tree.children if not (isinstance(child, Tree) and not child.children)]
        if not children:
            return 0
        tree = children[0]
    return _at(tree)


def _at(token: Token) -> int:
    assert token.start_pos is not None  # the lexer made it
    return token.start_pos
