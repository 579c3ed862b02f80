"""Finds the triggers that an event could fire, without asking the others.

Expressions are filed under the event types that can make them true, then under the constant that one of
their fields must have. Skipped is only what is exactly false: a trigger whose field is missing could be an
error, so it stays a candidate, unless its own `has` makes it false. So 10,000 triggers cost about as much
as those of them that fit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from parkway.router.cel.conditions import Path, conditions, is_false_without
from parkway.router.cel.expression import Expression
from parkway.router.cel.values import scalar_key


@dataclass(frozen=True, slots=True)
class Candidate:
    """An expression of an action. `action` and `trigger` are positions in the plan, and its order."""

    action: int
    trigger: int
    expression: Expression


@dataclass(slots=True)
class _Field:
    """The triggers filed under the constants of one field."""

    path: Path
    by_key: dict[Any, list[Candidate]] = field(default_factory=lambda: defaultdict(list))
    when_missing: list[Candidate] = field(default_factory=list)

    def find(self, event: Mapping[str, Any]) -> Sequence[Candidate]:
        value: Any = event
        try:
            for name in self.path:
                value = value[name]
        except (KeyError, TypeError, IndexError):
            return self.when_missing
        if isinstance(value, dict | list):
            return ()
        return self.by_key.get(scalar_key(value), ())


class _Bucket:
    """The triggers of one event type, or those that any type can fire."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.always: list[Candidate] = []
        self.fields: dict[Path, _Field] = {}
        filed = [(candidate, conditions(candidate.expression.tree)) for candidate in candidates]
        crowds = Counter((path, key) for _, found in filed for path, keys in found.items() for key in keys)
        popularity = Counter(path for _, found in filed for path in found)
        for candidate, found in filed:
            if not found:
                self.always.append(candidate)
                continue
            # The smallest crowd it would share a key with; among equals the field that others use too.
            path = min(
                found,
                key=lambda path: (
                    max((crowds[path, key] for key in found[path]), default=0),
                    -popularity[path],
                ),
            )
            self.file(candidate, path, found[path])

    def file(self, candidate: Candidate, path: Path, keys: frozenset[Any]) -> None:
        place = self.fields.setdefault(path, _Field(path))
        for key in keys:
            place.by_key[key].append(candidate)
        if not is_false_without(candidate.expression.tree, path):
            place.when_missing.append(candidate)

    def find(self, event: Mapping[str, Any]) -> list[Candidate]:
        found = list(self.always)
        for place in self.fields.values():
            found += place.find(event)
        return found


_EMPTY: Final = _Bucket(())


class TriggerIndex:
    """The expressions of a plan. Immutable once built."""

    def __init__(self, candidates: Sequence[tuple[Candidate, frozenset[str] | None]]) -> None:
        by_type: dict[str, list[Candidate]] = defaultdict(list)
        self._of_any_type: list[Candidate] = []
        for candidate, types in candidates:
            if types is None:
                self._of_any_type.append(candidate)
            for event_type in types or ():
                by_type[event_type].append(candidate)
        self._lists = dict(by_type)
        self._buckets = {event_type: _Bucket(each) for event_type, each in by_type.items()}
        self._any = _Bucket(self._of_any_type)

    def find(self, event: Mapping[str, Any]) -> list[Candidate]:
        """The triggers that could fire or fail for this event, in the order of the plan."""
        found = self._buckets.get(event["type"], _EMPTY).find(event) + self._any.find(event)
        if len(found) > 1:
            found.sort(key=_order)
        return found

    def of_type(self, event_type: str) -> list[Candidate]:
        """All triggers that some event of this type could fire."""
        return self._lists.get(event_type, []) + self._of_any_type


def _order(candidate: Candidate) -> tuple[int, int]:
    return (candidate.action, candidate.trigger)
