"""What comes into an agent, and what it gives out."""

from typing import Any, ClassVar

from parkway.schemas.event_types import EventType
from parkway.schemas.typed_event import TypedEvent


class InputEvent(TypedEvent):
    """Anything from outside, as `input`."""

    EVENT_TYPE: ClassVar[str] = EventType.InputEvent

    input: Any


class OutputEvent(TypedEvent):
    """A result of the agent, as `output`. It goes to the outputs topic and triggers nothing."""

    EVENT_TYPE: ClassVar[str] = EventType.OutputEvent

    output: Any
