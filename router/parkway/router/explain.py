"""Why an event fires the actions that it fires, and why not the others (DESIGN 5.6).

The exact evaluator is asked for every sub-expression, also for those that a decided `&&`, `||` or `?:`
never reads: whoever debugs a trigger wants to see them all.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from parkway.router.cel import Trigger
from parkway.router.cel.errors import CelError, shortened
from parkway.router.cel.evaluate import evaluate
from parkway.router.cel.nodes import (
    And,
    Comparison,
    Conditional,
    Constant,
    Event,
    ListOf,
    MapOf,
    Node,
    Not,
    Or,
    Select,
    children,
    path_of,
)
from parkway.router.cel.values import CelType, Duration, Timestamp, normalise, type_name
from parkway.router.cel.write import write, write_value
from parkway.router.table import TriggerTable

_MOST_REASONS: Final = 3  # alternatives of an `||` that one sentence names


@dataclass(frozen=True, slots=True)
class Step:
    """A sub-expression, what it gave (`value`, a CEL value, or `error`), and its own sub-expressions.

    Literals are no steps. A path such as `order.customer.id` is one; only if it is an error, the steps on
    the way stand below it.
    """

    node: Node
    text: str
    value: Any
    error: str | None
    parts: tuple["Step", ...]

    @property
    def shown(self) -> str:
        """The value as CEL text, cut to a readable length, or the error."""
        return f"error: {self.error}" if self.error is not None else shortened(write_value(self.value))

    def to_json(self) -> dict[str, Any]:
        outcome = {"value": _json(self.value)} if self.error is None else {"error": self.error}
        return {"expression": self.text, **outcome, "parts": [part.to_json() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class TriggerExplanation:
    """`result` is None where the trigger has no boolean value; `error` says why. `reason` is one sentence."""

    trigger: Trigger
    result: bool | None
    error: str | None
    reason: str
    tree: Step

    def to_json(self) -> dict[str, Any]:
        return {
            "trigger": self.trigger.entry,
            "kind": self.trigger.kind,
            "result": self.result,
            "error": self.error,
            "reason": self.reason,
            "tree": self.tree.to_json(),
        }


@dataclass(frozen=True, slots=True)
class ActionExplanation:
    """`fired_by` is the trigger that decides, None if the action does not fire."""

    action: str
    fired_by: Trigger | None
    triggers: tuple[TriggerExplanation, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "action": self.action,
            "fires": self.fired_by is not None,
            "fired_by": self.fired_by.entry if self.fired_by is not None else None,
            "triggers": [trigger.to_json() for trigger in self.triggers],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """`fires` are the actions in the order of DESIGN 5.4; `actions` are all of the plan, in its order."""

    event_id: str
    event_type: str
    fires: tuple[str, ...]
    actions: tuple[ActionExplanation, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "event": {"id": self.event_id, "type": self.event_type},
            "fires": list(self.fires),
            "actions": [action.to_json() for action in self.actions],
        }


def explain(table: TriggerTable, event: Mapping[str, Any]) -> Explanation:
    """What every trigger of a table says to an event in JSON form, down to every sub-expression."""
    return Explanation(
        str(event.get("id", "")),
        event["type"],
        tuple(table.match(event)),
        tuple(_explain_action(action, triggers, event) for action, triggers in table.triggers),
    )


def explain_trigger(trigger: Trigger, event: Mapping[str, Any]) -> TriggerExplanation:
    """What one trigger says to an event in JSON form."""
    tree = _step(_tree_of(trigger, event), event)
    error = tree.error
    if error is None and not isinstance(tree.value, bool):
        error = f"{type_name(tree.value)} is no boolean"
    result = tree.value if error is None else None
    return TriggerExplanation(trigger, result, error, _reason(tree), tree)


def _explain_action(action: str, triggers: tuple[Trigger, ...], event: Mapping[str, Any]) -> ActionExplanation:
    explained = tuple(explain_trigger(trigger, event) for trigger in triggers)
    # A type name decides before any expression is asked.
    true = sorted((each.trigger.kind != "event-type", number) for number, each in enumerate(explained) if each.result)
    return ActionExplanation(action, triggers[true[0][1]] if true else None, explained)


def _tree_of(trigger: Trigger, event: Mapping[str, Any]) -> Node:
    if trigger.expression is not None:
        return trigger.expression.tree
    name = next(iter(trigger.event_types or ()), event["type"])
    return Comparison(0, "==", Event(0, "type"), Constant(0, name))


def _step(node: Node, event: Mapping[str, Any]) -> Step:
    value, error = None, None
    try:
        value = normalise(evaluate(node, event))
    except CelError as failure:
        error = str(failure)
    except RecursionError:
        error = "a value is nested too deeply to compare"
    shown = children(node) if path_of(node) is None or error is not None else ()
    parts = tuple(_step(part, event) for part in shown if not _is_literal(part))
    match node, parts:
        case Select(), (Step(value=dict() as holder),) if error is not None:
            error += f" (there are: {shortened(', '.join(map(str, holder)))})" if holder else " (the map is empty)"
    # The map of all attributes is said in that hint, and too large to read.
    parts = tuple(part for part in parts if part.node != Event(part.node.position, "attributes"))
    return Step(node, write(node), value, error, parts)


def _is_literal(node: Node) -> bool:
    return isinstance(node, Constant) or (isinstance(node, ListOf | MapOf) and all(map(_is_literal, children(node))))


def _reason(step: Step) -> str:
    """One sentence: the sub-expressions that decided."""
    match step.node:
        case And() | Or():
            return _reason_of_chain(step, decisive=isinstance(step.node, Or))
        case Not() if step.error is None and step.parts:
            return _reason(step.parts[0])
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return _reason_of_conditional(step, condition, then, otherwise)
        case _:
            return _fact(step)


def _reason_of_chain(step: Step, *, decisive: bool) -> str:
    """Of `&&`, which one false operand decides, or of `||`, which one true operand decides."""
    if step.error is not None:
        deciding = [part for part in step.parts if not isinstance(part.value, bool)][:1]
    elif step.value is decisive:
        deciding = [part for part in step.parts if part.value is decisive][:1]
    else:
        deciding = list(step.parts)
    if not deciding:
        return _fact(step)
    more = len(deciding) - _MOST_REASONS
    reasons = [_reason(part) for part in deciding[:_MOST_REASONS]]
    return "; ".join(reasons + ([f"and {more} more"] if more > 0 else []))


def _reason_of_conditional(step: Step, condition: Node, then: Node, otherwise: Node) -> str:
    by_node = {id(part.node): part for part in step.parts}
    asked = by_node.get(id(condition))
    decided = condition.value if isinstance(condition, Constant) else asked and asked.value
    if not isinstance(decided, bool):
        return _reason(asked) if asked is not None else _fact(step)
    taken = by_node.get(id(then if decided else otherwise))
    return _reason(taken) if taken is not None else _fact(step)


def _fact(step: Step) -> str:
    if step.error is not None:
        return f"`{step.text}` is an error: {step.error}"
    if not isinstance(step.value, bool):
        return f"`{step.text}` is {step.shown}, which is no boolean"
    seen = [part for part in step.parts if part.error is None and not isinstance(part.value, dict)]
    because = ", ".join(f"{part.text} is {part.shown}" for part in seen)
    return f"`{shortened(step.text)}` is {step.shown}" + (f" ({because})" if because else "")


def _json(value: Any) -> Any:
    """A CEL value in JSON; what JSON has no form for is its CEL text."""
    match value:
        case None | bool() | int() | str():
            return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
        case float():
            return value if math.isfinite(value) else str(value)
        case list():
            return [_json(item) for item in value]
        case dict():
            return {key if isinstance(key, str) else write_value(key): _json(item) for key, item in value.items()}
        case Timestamp() | Duration() | CelType() | bytes():
            return write_value(value)
        case _:
            return str(value)
