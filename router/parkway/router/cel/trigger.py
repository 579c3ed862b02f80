"""A trigger entry: an event type name, or an expression (DESIGN 5.1)."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from parkway.router.cel.errors import TriggerLoadError
from parkway.router.cel.event_types import possible_types
from parkway.router.cel.expression import Expression, compile_expression
from parkway.router.cel.generate import Compiled
from parkway.router.cel.nodes import Event, Select
from parkway.schemas.event_types import EventType

Kind = Literal["event-type", "expression"]

_TYPE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*")
_QUOTED_TYPE_NAME: Final = re.compile(r"(?P<quote>['\"])(?P<name>[^'\"\\\s\x00-\x1f\x7f-\x9f]+)(?P=quote)")
_LITERALS: Final = frozenset({"true", "false", "null"})


class Trigger:
    """One trigger of an action. Immutable, and safe to share between threads.

    `entry` is what the user wrote, trimmed. `event_types` are the types that can make it true, None when
    any can. `expression` is None for an event type name.

    `evaluate(event)` tells whether an event in JSON form fires it. It raises `TriggerEvaluationError` where
    the expression has no boolean value (see `Expression`).
    """

    evaluate: Compiled

    def __init__(self, entry: str, event_types: frozenset[str] | None, expression: Expression | None) -> None:
        self.entry = entry
        self.event_types = event_types
        self.expression = expression
        self.kind: Kind = "event-type" if expression is None else "expression"
        self.evaluate = self._is_named if expression is None else expression.evaluate

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the entry loads with but should be written otherwise."""
        return self.expression.warnings if self.expression is not None else ()

    def _is_named(self, event: Mapping[str, Any]) -> bool:
        return self.event_types is not None and event["type"] in self.event_types

    def __repr__(self) -> str:
        return f"Trigger({self.entry!r})"


def compile_trigger(entry: str) -> Trigger:
    """Compile a trigger entry.

    Raises:
        TriggerLoadError: it is neither an event type name nor a trigger expression, or could never fire.

    """
    if not isinstance(entry, str):
        raise TriggerLoadError(
            "syntax", f"a trigger is text, not {type(entry).__name__}: write 'order.created'", repr(entry)
        )
    trimmed = entry.strip()
    if not trimmed:
        raise TriggerLoadError("syntax", "the trigger is blank: write an event type or an expression", entry)
    if (name := type_name(trimmed)) is not None:
        _refuse_output({name}, trimmed)
        return Trigger(trimmed, frozenset({name}), None)
    _refuse_constant(trimmed)
    expression = compile_expression(trimmed)
    _refuse_bare_path(expression)
    types = possible_types(expression.tree)
    if types is not None:
        _refuse_output(types, trimmed)
    return Trigger(trimmed, types, expression)


def type_name(entry: str) -> str | None:
    """The event type that a trimmed entry names; None if the entry is an expression."""
    if quoted := _QUOTED_TYPE_NAME.fullmatch(entry):
        return quoted["name"]
    if entry in _LITERALS or entry.startswith("EventType.") or not _TYPE_NAME.fullmatch(entry):
        return None
    return entry


def _refuse_constant(entry: str) -> None:
    constant = entry.removeprefix("EventType.")
    if constant != entry and constant in EventType.names():
        raise TriggerLoadError(
            "type",
            f"{entry} alone is no condition: pass the constant without quotes, or write `type == {entry}`",
            entry,
        )


def _refuse_output(types: frozenset[str] | set[str], entry: str) -> None:
    if not types:
        raise TriggerLoadError("type", "no event type can make this true, so it could never fire", entry)
    if types == {EventType.OutputEvent}:
        raise TriggerLoadError(
            "type",
            "output events leave the system and trigger nothing: send an event of your own type beside it",
            entry,
        )


def _refuse_bare_path(expression: Expression) -> None:
    """`(flag)` reads like a type name; it would also be an error for every event without the field."""
    node = expression.tree
    steps: list[str] = []
    while isinstance(node, Select):
        steps.append(node.field)
        node = node.operand
    if not isinstance(node, Event):
        return
    names = [*([] if node.part == "attributes" else [node.part]), *reversed(steps)]
    raise TriggerLoadError(
        "type",
        f"a bare path is no trigger: write `{'.'.join(names)} == true`",
        expression.text,
        expression.tree.position,
    )
