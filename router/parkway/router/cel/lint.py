r"""What loads, but is probably not what its author means.

`'\d'` in an ordinary string, a field compared with values of two types, alternatives that can never be
reached, and a trigger that another one of the same action makes needless.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, Final

from parkway.router.cel.errors import shortened
from parkway.router.cel.event_types import possible_types
from parkway.router.cel.generate import constant_items
from parkway.router.cel.implication import implies, never_true
from parkway.router.cel.nodes import (
    And,
    Call,
    Comparison,
    Conditional,
    Constant,
    Event,
    ListOf,
    MapOf,
    Node,
    Or,
    children,
    path_of,
)
from parkway.router.cel.trigger import Trigger, compile_trigger
from parkway.router.cel.values import is_number
from parkway.router.cel.write import write

_MOST_TRIGGERS: Final = 200  # of one action that are compared with each other
_MOST_ALTERNATIVES: Final = 60
_STRING_TESTS: Final = frozenset({"contains", "startsWith", "endsWith", "matches"})

# Path -> type in words -> the comparison that says so.
_Uses = dict[tuple[str, ...], dict[str, str]]


def lint(actions: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Warnings for the trigger entries of a plan, one line each.

    Raises:
        TriggerLoadError: an entry does not compile.

    """
    warnings = []
    for action, entries in actions:
        triggers = [compile_trigger(entry) for entry in entries]
        found = [(number, warning) for number, trigger in enumerate(triggers) for warning in lint_trigger(trigger)]
        for number, warning in sorted([*found, *lint_action(triggers)], key=lambda each: each[0]):
            warnings.append(f"action {action!r}: trigger `{shortened(triggers[number].entry)}`: {warning}")
    return warnings


def lint_trigger(trigger: Trigger) -> list[str]:
    """Warnings about one trigger."""
    if trigger.expression is None:
        return []
    tree = trigger.expression.tree
    warnings = list(trigger.warnings)
    if never_true(tree):
        warnings.append("it can never be true: two of its conditions exclude each other")
    else:
        warnings += _unreachable(tree, ())
    _uses_of(tree, warnings)
    return list(dict.fromkeys(warnings))


def lint_action(triggers: Sequence[Trigger]) -> list[tuple[int, str]]:
    """Warnings about triggers of one action that another one implies, each with the trigger's number."""
    if len(triggers) > _MOST_TRIGGERS:
        return []
    trees = [_tree_of(trigger) for trigger in triggers]
    needless: dict[int, int] = {}
    for first, second in combinations(range(len(triggers)), 2):
        if first in needless or second in needless:
            continue
        if implies(trees[second], trees[first]):
            needless[second] = first
        elif implies(trees[first], trees[second]):
            needless[first] = second
    return [
        (number, f"it is not needed: `{shortened(triggers[by].entry)}` of the same action fires whenever it does")
        for number, by in sorted(needless.items())
    ]


def _tree_of(trigger: Trigger) -> Node:
    if trigger.expression is not None:
        return trigger.expression.tree
    return Comparison(0, "==", Event(0, "type"), Constant(0, next(iter(trigger.event_types or ("",)))))


def _unreachable(node: Node, given: tuple[Node, ...]) -> Iterator[str]:
    """Alternatives of `||` and `?:` below a node that is asked for only where `given` is true."""
    match node:
        case And(operands=operands):
            for number, operand in enumerate(operands):
                yield from _unreachable(operand, (*given, *operands[:number], *operands[number + 1 :]))
        case Or(operands=operands):
            yield from _unreachable_alternatives(operands, given)
        case Conditional(condition=Constant(value=value), then=then, otherwise=otherwise):
            yield f"`{_short(otherwise if value is True else then)}` is never reached: its condition is a constant"
        case _:
            for child in children(node):
                yield from _unreachable(child, ())


def _unreachable_alternatives(alternatives: tuple[Node, ...], given: tuple[Node, ...]) -> Iterator[str]:
    dead = set()
    for number, alternative in enumerate(alternatives):
        if never_true(And(alternative.position, (*given, alternative))):
            dead.add(number)
            yield f"the alternative `{_short(alternative)}` can never be true here"
    living = [number for number in range(len(alternatives)) if number not in dead]
    for first, second in combinations(living[:_MOST_ALTERNATIVES], 2):
        if first in dead or second in dead:
            continue
        for one, other in ((second, first), (first, second)):
            if implies(alternatives[one], alternatives[other]):
                dead.add(one)
                needless, by = _short(alternatives[one]), _short(alternatives[other])
                yield f"`{needless}` adds nothing: `{by}` holds whenever it does"
                break
    for number in living:
        if number not in dead:
            yield from _unreachable(alternatives[number], given)


def _uses_of(node: Node, warnings: list[str]) -> _Uses:
    """With which types the fields below a node are compared. Two types of one field are a warning."""
    if isinstance(node, Or) and any(possible_types(operand) is not None for operand in node.operands):
        for operand in node.operands:  # a field of two event types can well have two types
            _uses_of(operand, warnings)
        return {}
    uses: _Uses = {}
    for path, kind, text in [*_own_uses(node), *_uses_below(node, warnings)]:
        known = uses.setdefault(path, {})
        if known and kind not in known:
            other_kind, other = next(iter(known.items()))
            name = ".".join(path).removeprefix("attributes.")
            warnings.append(f"`{name}` is compared with {other_kind} (`{other}`) and with {kind} (`{text}`)")
        known.setdefault(kind, text)
    return uses


def _uses_below(node: Node, warnings: list[str]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    for child in children(node):
        for path, kinds in _uses_of(child, warnings).items():
            for kind, text in kinds.items():
                yield path, kind, text


def _own_uses(node: Node) -> Iterator[tuple[tuple[str, ...], str, str]]:
    match node:
        case Comparison(operator="in", left=left, right=right):
            compared = [(left, value) for value in constant_items(right) or ()]
        case Comparison(left=left, right=right):
            compared = [(one, _value(other)) for one, other in ((left, right), (right, left))]
        case Call(function=function, arguments=(subject, *_)) if function in _STRING_TESTS:
            compared = [(subject, "")]
        case _:
            return
    for operand, value in compared:
        path, kind = path_of(operand), _kind(value)
        if path is not None and kind is not None:
            yield path, kind, _short(node)


def _value(node: Node) -> Any:
    match node:
        case Constant(value=value):
            return value
        case ListOf():
            return []
        case MapOf():
            return {}
        case _:
            return None


def _kind(value: Any) -> str | None:
    """The type in words; None where it says nothing (null fits every field)."""
    if is_number(value):
        return "a number"
    return next((name for python_type, name in _KINDS if isinstance(value, python_type)), None)


_KINDS: Final = ((bool, "a boolean"), (str, "a string"), (bytes, "bytes"), (list, "a list"), (dict, "a map"))


def _short(node: Node) -> str:
    return shortened(write(node))
