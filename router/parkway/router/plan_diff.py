"""What one plan changes against another: actions, triggers, accepted types, sources, sinks, policies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from parkway.schemas.plan import ActionPlan, Plan, SinkPlan, SourcePlan

# What is told apart member by member, or is no part of what a router does.
_TOLD_APART: Final = frozenset({"v", "agent", "build", "actions", "accepts", "sources", "sinks"})


@dataclass(frozen=True, slots=True)
class Changes:
    """What was added and removed under one heading, such as the triggers of an action."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def to_json(self) -> dict[str, Any]:
        return {"added": list(self.added), "removed": list(self.removed)}


@dataclass(frozen=True, slots=True)
class ActionChange:
    """An action that both plans have. `retired`: it takes no new work from here on; False: it does again."""

    name: str
    triggers: Changes
    resumed_by: Changes
    answers: Changes
    keeps: Changes = field(default_factory=Changes)  # state, steps
    retired: bool | None = None

    def to_json(self) -> dict[str, Any]:
        lists = {
            heading: changes.to_json()
            for heading, changes in (
                ("triggers", self.triggers),
                ("resumed_by", self.resumed_by),
                ("answers", self.answers),
                ("keeps", self.keeps),
            )
            if changes
        }
        return {"name": self.name, **lists, **({} if self.retired is None else {"retired": self.retired})}


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """From one plan to another. False when a router would do the same with both."""

    actions: Changes
    changed: tuple[ActionChange, ...]
    accepts: Changes
    sources: Changes
    sinks: Changes = field(default_factory=Changes)
    policies: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # name -> before, after
    reordered: bool = False  # the same actions or triggers in another order

    def __bool__(self) -> bool:
        lists = (self.actions, self.changed, self.accepts, self.sources, self.sinks, self.policies)
        return any(lists) or self.reordered

    def to_json(self) -> dict[str, Any]:
        return {
            "same": not self,
            "actions": {**self.actions.to_json(), "changed": [each.to_json() for each in self.changed]},
            "accepts": self.accepts.to_json(),
            "sources": self.sources.to_json(),
            "sinks": self.sinks.to_json(),
            "policies": {name: {"from": old, "to": new} for name, (old, new) in self.policies.items()},
            "reordered": self.reordered,
        }

    def lines(self) -> Iterator[str]:
        """For people: `+` added, `-` removed, `~` changed, one thing a line."""
        yield from _lines("action", self.actions)
        for each in self.changed:
            if each.retired is not None:
                said = "retired: continuations only" if each.retired else "no longer retired: it takes new work"
                yield f"~ action {each.name}: {said}"
            yield from _lines(f"action {each.name}: trigger", each.triggers)
            yield from _lines(f"action {each.name}: resumed by", each.resumed_by)
            yield from _lines(f"action {each.name}: answers", each.answers)
            yield from _lines(f"action {each.name}: keeps", each.keeps)
        yield from _lines("accepts", self.accepts)
        yield from _lines("source", self.sources)
        yield from _lines("sink", self.sinks)
        for name, (old, new) in self.policies.items():
            yield f"~ {name}: {_shown(old)} -> {_shown(new)}"
        if self.reordered:
            yield "~ the order of actions or triggers"


def diff(old: Plan | None, new: Plan) -> PlanDiff:
    """What `new` changes; against None everything is added."""
    before = {action.name: action for action in old.actions} if old is not None else {}
    after = {action.name: action for action in new.actions}
    changed = [_action(before[name], action) for name, action in after.items() if name in before]
    found = PlanDiff(
        actions=_changes(before, after),
        changed=tuple(each for each in changed if each is not None),
        accepts=_changes(old.accepts if old is not None else (), new.accepts),
        sources=_changes(map(source_line, old.sources if old is not None else ()), map(source_line, new.sources)),
        sinks=_changes(map(sink_line, old.sinks if old is not None else ()), map(sink_line, new.sinks)),
        policies={} if old is None else _policies(old, new),
    )
    if old is None or found or old.with_build().build == new.with_build().build:
        return found
    return replace(found, reordered=True)


def source_line(source: SourcePlan) -> str:
    """A source in a few words: `shop.orders (avro, order)`."""
    return f"{source.topic} ({source.format}{f', {source.type}' if source.type else ''})"


def sink_line(sink: SinkPlan) -> str:
    """A sink in a few words: `shop.done (json)`."""
    return f"{sink.topic} ({sink.format})"


def _kept(action: ActionPlan) -> list[str]:
    return [name for name, keeps in (("state", action.keeps_state), ("steps", action.keeps_steps)) if keeps]


def _action(old: ActionPlan, new: ActionPlan) -> ActionChange | None:
    change = ActionChange(
        new.name,
        _changes(old.triggers, new.triggers),
        _changes(old.resumed_by, new.resumed_by),
        _changes(old.answers, new.answers),
        _changes(_kept(old), _kept(new)),
        None if old.retired == new.retired else new.retired,
    )
    lists = (change.triggers, change.resumed_by, change.answers, change.keeps)
    return change if any(lists) or change.retired is not None else None


def _changes(old: Iterable[str], new: Iterable[str]) -> Changes:
    before, after = dict.fromkeys(old), dict.fromkeys(new)
    return Changes(
        tuple(each for each in after if each not in before), tuple(each for each in before if each not in after)
    )


def _policies(old: Plan, new: Plan) -> dict[str, tuple[Any, Any]]:
    before, after = (
        old.model_dump(mode="json", exclude=set(_TOLD_APART)),
        new.model_dump(mode="json", exclude=set(_TOLD_APART)),
    )
    return {name: (before[name], after[name]) for name in after if before[name] != after[name]}


def _lines(heading: str, changes: Changes) -> Iterator[str]:
    for sign, each in (("+", changes.added), ("-", changes.removed)):
        yield from (f"{sign} {heading} {one}" for one in each)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)
