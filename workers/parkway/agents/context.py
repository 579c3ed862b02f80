"""`Context`: what a handler knows of its record, and where it puts what it sends."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, TypeVarTuple, overload

from structlog.typing import FilteringBoundLogger

from parkway.agents.errors import ContextError
from parkway.agents.sink import Payload, Sink, Sinks
from parkway.agents.state import State
from parkway.agents.step import Result, StepError, StepLog, call, check_name
from parkway.runtime.logs import get_logger
from parkway.schemas.event_types import EventType
from parkway.schemas.events import Event, OutputEvent

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@dataclass(slots=True)
class Sent:
    """What a handler has sent: events, outputs, payloads for sinks; its state, None when that is as it was."""

    events: list[Event] = field(default_factory=list)
    outputs: list[Event] = field(default_factory=list)
    payloads: list[Payload] = field(default_factory=list)
    state: dict[str, Any] | None = None


class Context:
    """The second argument of a handler, for one attempt at one record.

    What it sends is published in one Kafka transaction after the handler returned, and not at all when the
    handler raises. `event` is the event in its typed form, `record_key` the Kafka key of its record, `root_id` the id
    of the event that came from outside and led here, and `attempt` counts from 1. `deadline` is when the event must be
    handled (UTC), None when there is no such time; a request that the handler sends gets the deadline that came with
    the event. `logger` is a structlog logger whose lines name the action, the event, its root and the attempt.
    """

    def __init__(
        self,
        action: str,
        event: Event,
        *,
        record_key: bytes | None = None,
        root_id: str | None = None,
        attempt: int = 1,
        deadline: datetime | None = None,
        sinks: Sinks | None = None,
        state: Callable[[], State] | None = None,
        steps: StepLog | None = None,
    ) -> None:
        """`state` makes what `ctx.state` gives, `steps` remembers what `ctx.step` does; None: not declared."""
        self.event = event
        self.record_key = record_key
        self.root_id = root_id
        self.attempt = attempt
        self.deadline = deadline
        self._action = action
        self._sinks = sinks or {}
        self._make_state = state
        self._state: State | None = None
        self._steps = steps
        self._step_names: set[str] = set()
        self._loop = asyncio.get_running_loop() if steps is not None else None
        self._sent = Sent()
        self._logger: FilteringBoundLogger | None = None
        self._closed = False

    @property
    def logger(self) -> FilteringBoundLogger:
        """Of this attempt: `ctx.logger.info("refunded", amount=3)`."""
        if self._logger is None:
            root = {"root_id": self.root_id} if self.root_id is not None else {}
            self._logger = get_logger("action").bind(
                action=self._action, event_id=self.event.id, **root, attempt=self.attempt
            )
        return self._logger

    @property
    def state(self) -> State:
        """What this action remembers of the record's key. Needs `@action(..., state=True)`; see `State`.

        Raises ContextError without that, and for a record without a key.
        """
        if self._state is None:
            if self._make_state is None:
                raise ContextError(
                    f"action {self._action!r}: ctx.state: write @action(..., state=True) above it, and build the plan "
                    "again: its state needs a topic"
                )
            if self.record_key is None:
                raise ContextError(
                    f"action {self._action!r}: ctx.state: the record of event {self.event.id!r} has no key: state is "
                    "kept by key, send such events with one"
                )
            self._check_open("state")
            self._state = self._make_state()
        return self._state

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
        self._sent.events.append(Event.parse(event.to_json()))

    def output(self, value: Any, *, to: Sink | None = None) -> None:
        """Put a value into `<namespace>.outputs`, or as a plain payload into the topic of a Sink of the agent.

        Raises EventError or ContextError, as `send` does; ContextError for a Sink that is no class attribute.
        """
        self._check_open("output")
        if to is None:
            self._sent.outputs.append(OutputEvent(output=value))  # it owns a copy
            return
        if not isinstance(to, Sink):
            raise TypeError(f"ctx.output(..., to={type(to).__name__}): a Sink, such as to=self.orders")
        write = self._sinks.get(to)
        if write is None:
            raise ContextError(
                f"action {self._action!r}: ctx.output(..., to={to!r}): the plan knows only sinks that are class "
                f"attributes: write orders = Sink({to.topic!r}) in the agent's class, and to=self.orders"
            )
        self._sent.payloads.append(Payload(to.topic, *write(value)))

    @overload
    def step(
        self, name: str, function: Callable[[*Ts], Awaitable[T]], /, *args: *Ts, returns: type[T] | None = None
    ) -> Coroutine[Any, Any, T]: ...

    @overload
    def step(
        self, name: str, function: Callable[[*Ts], T], /, *args: *Ts, returns: type[T] | None = None
    ) -> Coroutine[Any, Any, T]: ...

    def step(  # type: ignore[misc]  # mypy takes no TypeVarTuple of an overload for that of its implementation
        self, name: str, function: Callable[[*Ts], Any], /, *args: *Ts, returns: type[T] | None = None
    ) -> Coroutine[Any, Any, Any]:
        """Do something once: `receipt = await ctx.step("charge", charge, card)`. Needs `@action(..., steps=True)`.

        Calls `function(*args)` (in a thread unless it is a coroutine function) and returns when its result is
        committed. From then on the step is not done again, whatever happens: another attempt at this record, in this
        process or another one, gets the recorded result. A crash before that leaves it to be done once more, so give
        what it calls an idempotency key of its own.

        The result must be plain JSON, or what the function's annotation says (or `returns`), such as a pydantic model.
        A function that raises is not recorded. Names are used once in a handler. Raises StepError, ContextError.
        """
        if self._loop is not None and _running_loop() is not self._loop:
            raise ContextError(
                f"action {self._action!r}: ctx.step({name!r}, ...) in a sync handler: call ctx.step_sync, which waits"
            )
        return self._do_step(name, function, args, returns)

    def step_sync(self, name: str, function: Callable[[*Ts], T], /, *args: *Ts, returns: type[T] | None = None) -> T:
        """As `step`, for a sync handler: calls the function in its thread, and waits."""
        if _running_loop() is not None:
            raise ContextError(
                f"action {self._action!r}: ctx.step_sync({name!r}, ...) would stop the event loop: await ctx.step"
            )
        log, result = self._begin_step(name, function, returns)
        assert self._loop is not None
        found = asyncio.run_coroutine_threadsafe(log.find(name), self._loop).result()
        if found is None:
            found = result.encode(function(*args), log.largest)
            asyncio.run_coroutine_threadsafe(log.record(name, found), self._loop).result()
        decoded: T = result.decode(found)
        return decoded

    async def _do_step(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], returns: Any) -> Any:
        log, result = self._begin_step(name, function, returns)
        found = await log.find(name)
        if found is None:
            found = result.encode(await call(function, *args), log.largest)
            await log.record(name, found)
        return result.decode(found)

    def _begin_step(self, name: str, function: Callable[..., Any], returns: Any) -> tuple[StepLog, Result]:
        self._check_open("step")
        if self._steps is None:
            raise ContextError(
                f"action {self._action!r}: ctx.step: write @action(..., steps=True) above it, and build the plan "
                "again: results of steps need a topic"
            )
        check_name(name)
        if name in self._step_names:
            raise StepError(
                f"action {self._action!r}: step {name!r} stands in this handler twice: its result is found by its "
                f"name, so give each its own, such as f'{name}-{{item.id}}'"
            )
        self._step_names.add(name)
        return self._steps, Result(name, function, returns)

    def close(self) -> None:
        """End it: the handler has returned, or is left to itself. Called by the worker."""
        self._closed = True
        if self._steps is not None:
            self._steps.close()
        if self._state is not None:
            self._state.close()

    def sent(self) -> Sent:
        """Give what it took. Called by the worker.

        Raises StateError, EventError for state that was changed inside a value and cannot be written.
        """
        if self._state is not None:
            self._sent.state = self._state.changed()
        return self._sent

    def _check_open(self, call: str) -> None:
        if self._closed:
            raise ContextError(
                f"action {self._action!r}: ctx.{call}(...) after the handler returned: await what it started "
                "before it returns"
            )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
