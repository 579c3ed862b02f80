"""Finds the triggers that an event could fire, without asking the others.

Expressions are filed under the event types that can make them true, then under the constant that one of
their fields must have. Skipped is only what is exactly false. Where that field is missing, the trigger is
false or an error, so it cannot fire: it is found apart, for those who count errors, and filed there under
another of its fields. So 10,000 triggers cost about as much as those of them that fit.
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
class Found:
    """What an event could fire, and what it cannot fire but may be an error. Each list is in plan order."""

    could_fire: list[Candidate]
    could_fail: list[Sequence[Candidate]] = field(default_factory=list)


class _Field:
    """The triggers filed under the constants of one field. Where it is missing, none of them can fire."""

    def __init__(self, path: Path, without: frozenset[Path]) -> None:
        self.path = path
        self.without = without
        self.by_key: dict[Any, list[Candidate]] = defaultdict(list)
        self.when_missing: list[Candidate] = []
        self._failing: _Bucket | None = None  # `when_missing`, filed without this field; made when it is asked

    def find(self, event: Mapping[str, Any], found: Found) -> None:
        value: Any = event
        try:
            for name in self.path:
                value = value[name]
        except (KeyError, TypeError, IndexError):
            if self.when_missing:
                self.find_failing(event, found)
            return
        if not isinstance(value, dict | list):
            found.could_fire += self.by_key.get(scalar_key(value), ())

    def find_failing(self, event: Mapping[str, Any], found: Found) -> None:
        """One conjunct is an error: the others still make the trigger false, as the index knows."""
        bucket = self._failing
        if bucket is None:
            bucket = self._failing = _Bucket(self.when_missing, self.without | {self.path})
        bucket.find_failing(event, found)


class _Bucket:
    """Triggers, each filed under one of its fields, but under none of `without`."""

    def __init__(self, candidates: Iterable[Candidate], without: frozenset[Path]) -> None:
        self.without = without
        self.always: list[Candidate] = []
        self.fields: dict[Path, _Field] = {}
        filed = [(candidate, self.conditions(candidate)) for candidate in candidates]
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

    def conditions(self, candidate: Candidate) -> dict[Path, frozenset[Any]]:
        found = conditions(candidate.expression.tree)
        return {path: keys for path, keys in found.items() if path not in self.without}

    def file(self, candidate: Candidate, path: Path, keys: frozenset[Any]) -> None:
        place = self.fields.setdefault(path, _Field(path, self.without))
        for key in keys:
            place.by_key[key].append(candidate)
        if not is_false_without(candidate.expression.tree, path):
            place.when_missing.append(candidate)

    def find(self, event: Mapping[str, Any], found: Found) -> None:
        found.could_fire += self.always
        for place in self.fields.values():
            place.find(event, found)

    def find_failing(self, event: Mapping[str, Any], found: Found) -> None:
        """Of triggers that cannot fire: those that may be errors."""
        if self.always:
            found.could_fail.append(self.always)
        for place in self.fields.values():
            inner = Found([])
            place.find(event, inner)
            found.could_fail += [inner.could_fire, *inner.could_fail] if inner.could_fire else inner.could_fail


_BY_TYPE: Final = frozenset({("type",)})  # the type alone chooses the bucket


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
        self._buckets = {event_type: _Bucket(each, _BY_TYPE) for event_type, each in by_type.items()}
        self._any = _Bucket(self._of_any_type, _BY_TYPE)

    def find(self, event: Mapping[str, Any]) -> Found:
        """The triggers that could fire for this event, and those that could only be errors."""
        found = Found([])
        bucket = self._buckets.get(event["type"])
        if bucket is not None:
            bucket.find(event, found)
        self._any.find(event, found)
        if len(found.could_fire) > 1:
            found.could_fire.sort(key=_order)
        return found

    @property
    def types(self) -> Iterable[str]:
        """The event types that a trigger asks for."""
        return self._lists.keys()

    @property
    def of_any_type(self) -> Sequence[Candidate]:
        """The triggers that events of every type could fire."""
        return self._of_any_type

    def of_type(self, event_type: str) -> list[Candidate]:
        """All triggers that some event of this type could fire."""
        return self._lists.get(event_type, []) + self._of_any_type


def _order(candidate: Candidate) -> tuple[int, int]:
    return (candidate.action, candidate.trigger)
