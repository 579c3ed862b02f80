"""From an event to the actions that it triggers (DESIGN 5.4)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from parkway.router.cel import Trigger, TriggerEvaluationError, compile_trigger
from parkway.router.cel.index import Candidate, TriggerIndex

OnError = Callable[[str, str, Exception], None]

SAMPLES: Final = 16


class TriggerTable:
    """The compiled triggers of all actions of a plan. Immutable, and safe to share between threads.

    Args:
        actions: action names with their trigger entries, in plan order.
        on_error: called with action, trigger entry and error when an expression has no boolean value for
            an event. The trigger then counts as false, and the next one of the action is tried. Where a
            field that thousands of triggers compare is missing, none of them can fire; of these, no more
            than it takes to find one error, or the first `SAMPLES`, are tried for an event.

    Raises:
        TriggerLoadError: an entry does not compile. `actions` are compiled in order.

    """

    def __init__(self, actions: Sequence[tuple[str, Sequence[str]]], on_error: OnError | None = None) -> None:
        self._names = [action for action, _ in actions]
        self._on_error = on_error
        self._by_type: dict[str, list[int]] = defaultdict(list)
        self.triggers: list[tuple[str, tuple[Trigger, ...]]] = []
        expressions: list[tuple[Candidate, frozenset[str] | None]] = []
        for number, (action, entries) in enumerate(actions):
            triggers = tuple(map(compile_trigger, entries))
            self.triggers.append((action, triggers))
            for position, trigger in enumerate(triggers):
                if trigger.expression is not None:
                    candidate = Candidate(number, position, trigger.expression)
                    expressions.append((candidate, trigger.event_types))
                for event_type in trigger.event_types or () if trigger.kind == "event-type" else ():
                    if number not in self._by_type[event_type]:
                        self._by_type[event_type].append(number)
        self._by_type = dict(self._by_type)
        self._index = TriggerIndex(expressions)
        known = {*self._by_type, *self._index.types}
        self._of_known_type = {event_type: self._match_type(event_type) for event_type in known}
        self._of_other_type: list[str] | None = None if self._index.of_any_type else []

    def match(self, event: Mapping[str, Any]) -> list[str]:
        """The actions that an event (in JSON form) triggers, each once.

        First those that a trigger names the event's type for, then those that only an expression fires,
        both in plan order. An action's triggers are tried in order until one fires.
        """
        hits = self._by_type.get(event["type"], [])
        names = [self._names[number] for number in hits]
        fired = dict.fromkeys(hits, -1)  # action -> its trigger that decided
        found = self._index.find(event)
        for candidate in found.could_fire:
            if candidate.action not in fired and self._fires(candidate, event):
                fired[candidate.action] = candidate.trigger
                names.append(self._names[candidate.action])
        if found.could_fail and self._on_error is not None:
            self._sample_errors(chain.from_iterable(found.could_fail), fired, event)
        return names

    def match_type(self, event_type: str) -> Sequence[str] | None:
        """The actions that every event of a type triggers; None if it takes the whole event to know."""
        return self._of_known_type.get(event_type, self._of_other_type)

    def _match_type(self, event_type: str) -> Sequence[str] | None:
        hits = self._by_type.get(event_type, [])
        if any(candidate.action not in hits for candidate in self._index.of_type(event_type)):
            return None
        return [self._names[number] for number in hits]

    def _fires(self, candidate: Candidate, event: Mapping[str, Any]) -> bool:
        try:
            return candidate.expression.evaluate(event)
        except TriggerEvaluationError as error:
            self._tell(candidate, error)
            return False

    def _sample_errors(
        self, candidates: Iterable[Candidate], fired: Mapping[int, int], event: Mapping[str, Any]
    ) -> None:
        """Tell errors of triggers that cannot fire: all of a few; of many some, and at least one if there is any."""
        errors = 0
        for tried, candidate in enumerate(candidates):
            if tried >= SAMPLES and errors:
                return
            decided = fired.get(candidate.action)
            if decided is not None and decided < candidate.trigger:
                continue
            try:
                candidate.expression.evaluate(event)
            except TriggerEvaluationError as error:
                errors += 1
                self._tell(candidate, error)

    def _tell(self, candidate: Candidate, error: TriggerEvaluationError) -> None:
        if self._on_error is not None:
            self._on_error(self._names[candidate.action], candidate.expression.text, error)
