"""Nodes and values back to CEL text, for explanations and lint: parsing the text gives the same tree."""

import math
import re
from typing import Any, Final

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
from parkway.router.cel.parse import RESERVED
from parkway.router.cel.times import write_duration, write_timestamp
from parkway.router.cel.values import CelType, Duration, Timestamp, UInt

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS: Final = frozenset({"in", "true", "false", "null"})
_NOT_BARE: Final = RESERVED | _KEYWORDS | {"id", "type", "attributes", "EventType"}

# How tightly a node binds: an operand that binds less needs parentheses.
_CONDITIONAL, _OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _POSTFIX = range(8)


def write(node: Node) -> str:
    """The CEL text of a node, with as few parentheses as it takes."""
    match node:
        case Constant(value=value):
            return write_value(value)
        case Event(part=part):
            return part
        case Select(operand=Event(part="attributes"), field=name) if name not in _NOT_BARE and _is_word(name):
            return name
        case Select(operand=operand, field=name):
            return f"{_within(operand, _POSTFIX)}.{_field(name)}"
        case Index(operand=operand, index=index):
            return f"{_within(operand, _POSTFIX)}[{write(index)}]"
        case Has(operand=None, field=name):
            return f"has({name})"
        case Has(operand=Node() as operand, field=name):
            return f"has({write(Select(node.position, operand, name))})"
        case Not(operand=Not() as operand):
            return f"!{write(operand)}"
        case Not(operand=operand):
            return f"!{_within(operand, _POSTFIX)}"
        case Negate(operand=Constant() | Negate() as operand):
            return f"-({write(operand)})"
        case Negate(operand=operand):
            return f"-{_within(operand, _POSTFIX)}"
        case And(operands=operands):
            return " && ".join(_within(operand, _RELATION) for operand in operands)
        case Or(operands=operands):
            return " || ".join(_within(operand, _AND) for operand in operands)
        case Comparison(operator=operator, left=left, right=right):
            return f"{_within(left, _RELATION)} {operator} {_within(right, _SUM)}"
        case Arithmetic(operator=operator, left=left, right=right):
            level = _level(node)
            return f"{_within(left, level)} {operator} {_within(right, level + 1)}"
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return f"{_within(condition, _OR)} ? {_within(then, _OR)} : {write(otherwise)}"
        case Call(function=function, arguments=(receiver, *rest), receiver=True):
            return f"{_within(receiver, _POSTFIX)}.{function}({', '.join(map(write, rest))})"
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(write, arguments))})"
        case ListOf(items=items):
            return f"[{', '.join(map(write, items))}]"
        case MapOf(entries=entries):
            return "{" + ", ".join(f"{write(key)}: {write(value)}" for key, value in entries) + "}"
        case _:
            raise AssertionError(node)


def write_value(value: Any) -> str:
    """CEL text of a value of `values.py`, such as `'a'`, `5u` or `timestamp('2026-01-01T00:00:00Z')`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case UInt():
            return f"{int(value)}u"
        case float() if not math.isfinite(value):
            return f"double('{value}')"
        case int() | float():
            return str(value)
        case str():
            return "'" + "".join(map(_escaped, value)) + "'"
        case bytes():
            return "b'" + "".join(_escaped_byte(byte) for byte in value) + "'"
        case ("bool", key):  # of a map
            return write_value(key)
        case list():
            return f"[{', '.join(map(write_value, value))}]"
        case dict():
            return "{" + ", ".join(f"{write_value(key)}: {write_value(item)}" for key, item in value.items()) + "}"
        case Timestamp():
            return f"timestamp('{write_timestamp(value)}')"
        case Duration():
            return f"duration('{write_duration(value)}')"
        case CelType():
            return value.name
        case _:
            return repr(value)


def _within(node: Node, level: int) -> str:
    text = write(node)
    return text if _level(node) >= level else f"({text})"


def _level(node: Node) -> int:
    match node:
        case Conditional():
            return _CONDITIONAL
        case Or():
            return _OR
        case And():
            return _AND
        case Comparison():
            return _RELATION
        case Arithmetic(operator=operator):
            return _SUM if operator in "+-" else _PRODUCT
        case Not() | Negate() | Constant(value=int() | float()):
            return _UNARY  # `-1` and `1.5` do not stand before a dot
        case _:
            return _POSTFIX


def _is_word(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None


def _field(name: str) -> str:
    return name if _is_word(name) and name not in _KEYWORDS else f"`{name}`"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _escaped_byte(byte: int) -> str:
    character = chr(byte)
    return character if character.isascii() and character.isprintable() and character not in "\\'" else f"\\x{byte:02x}"
