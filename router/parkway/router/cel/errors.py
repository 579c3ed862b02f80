"""What goes wrong with a trigger: at load (with a caret under the place) and at evaluation."""

from typing import Literal

from parkway.schemas.errors import ParkwayError

Stage = Literal["syntax", "unsupported", "unknown-event-type", "type", "limit"]

_QUOTED = 60  # characters of a word that a message repeats
_CARET_WINDOW = 100  # columns of a long line that are shown around the caret


class TriggerLoadError(ParkwayError, ValueError):
    """A trigger entry or expression that must not load.

    `stage` says what found it: `syntax` (not an expression), `unsupported` (CEL, but not the subset of
    triggers), `unknown-event-type` (`EventType.X` without that X), `type` (unknown functions, wrong
    argument counts, a result that can never be boolean), `limit` (too long, too deep, too many items).
    The message names what is wrong and the way out, then shows the entry with a caret under `position`
    (an offset into `entry`, in characters).
    """

    def __init__(self, stage: Stage, reason: str, entry: str, position: int = 0) -> None:
        self.stage: Stage = stage
        self.reason = reason
        self.entry = entry
        self.position = position
        super().__init__(f"{reason}\n{_point_at(entry, position)}")

    def __reduce__(self) -> tuple[type["TriggerLoadError"], tuple[Stage, str, str, int]]:
        return (type(self), (self.stage, self.reason, self.entry, self.position))


class TriggerEvaluationError(ValueError):
    """The expression has no boolean value for this event.

    A field is missing, a value's type has no such operator, or the result is no boolean. `expression` is
    the text, `reason` says what happened.
    """

    def __init__(self, expression: str, reason: str) -> None:
        self.expression = expression
        self.reason = reason
        super().__init__(f"{reason} in `{expression}`")

    def __reduce__(self) -> tuple[type["TriggerEvaluationError"], tuple[str, str]]:
        return (type(self), (self.expression, self.reason))


class CelError(Exception):
    """CEL's error value, while an expression is evaluated. `&&`, `||` and `has` may absorb it.

    Its text quotes no value of the event: it stands in logs, headers and failed responses. `explain` shows values.
    """


def shortened(text: str) -> str:
    """A piece of an entry as a message quotes it."""
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "..."


def _point_at(entry: str, position: int) -> str:
    start = entry.rfind("\n", 0, position) + 1
    end = entry.find("\n", position)
    line = entry[start : end if end >= 0 else len(entry)]
    column = position - start
    cut = max(0, column - _CARET_WINDOW // 2)
    shown = line[cut : cut + _CARET_WINDOW]
    head = "..." if cut else ""
    tail = "..." if cut + _CARET_WINDOW < len(line) else ""
    visible = "".join(character if character.isprintable() else " " for character in shown)
    return f"  {head}{visible}{tail}\n  {' ' * (len(head) + column - cut)}^"
