"""`Context`: what a handler knows of its record, and where it puts what it sends."""

from datetime import datetime
from typing import Any

from parkway.agents.errors import ContextError
from parkway.schemas.event_types import EventType
from parkway.schemas.events import Event, OutputEvent


class Context:
    """The second argument of a handler, for one attempt at one record.

    What it sends is published in one Kafka transaction after the handler returned, and not at all when the
    handler raises. `event` is the event in its typed form, `record_key` the Kafka key of its record, and
    `attempt` counts from 1. `deadline` is when the event must be handled (UTC), None when there is no such
    time; a request that the handler sends gets the deadline that came with the event.
    """

    def __init__(
        self,
        action: str,
        event: Event,
        *,
        record_key: bytes | None = None,
        attempt: int = 1,
        deadline: datetime | None = None,
    ) -> None:
        self.event = event
        self.record_key = record_key
        self.attempt = attempt
        self.deadline = deadline
        self._action = action
        self._events: list[Event] = []
        self._outputs: list[Event] = []
        self._closed = False

    def send(self, event: Event) -> None:
        """Send an event to the agent's own actions. A later change to `event` changes nothing.

        Raises TypeError for what is no event and for an output event, EventError for one that cannot be
        written, ContextError after the handler returned.
        """
        self._check_open("send")
        if not isinstance(event, Event):
            raise TypeError(f"ctx.send({type(event).__name__}): an event, such as Event(type='ticket')")
        if event.type == EventType.OutputEvent:
            raise TypeError("ctx.send(OutputEvent(...)): an output leaves the agent by ctx.output(value)")
        self._events.append(Event.parse(event.to_json()))

    def output(self, value: Any) -> None:
        """Put a value into `<namespace>.outputs`. Raises EventError or ContextError, as `send` does."""
        self._check_open("output")
        self._outputs.append(Event.parse(OutputEvent(output=value).to_json()))

    def close(self) -> tuple[list[Event], list[Event]]:
        """End this context and give the events and the outputs it took. Called by the worker."""
        self._closed = True
        return self._events, self._outputs

    def _check_open(self, call: str) -> None:
        if self._closed:
            raise ContextError(
                f"action {self._action!r}: ctx.{call}(...) after the handler returned: await what it started "
                "before it returns"
            )
