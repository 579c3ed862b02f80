"""The user action: a method of the user's agent, one attempt at a time, and what it sent."""

import asyncio
import inspect
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from opentelemetry import trace

from parkway.agents.action import ActionSpec
from parkway.agents.agent import Agent
from parkway.agents.context import Context
from parkway.agents.handler import BodyError, binding_of
from parkway.agents.sink import Sinks
from parkway.agents.state import State
from parkway.agents.threads import run_in_thread
from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.schemas.errors import DlqReason
from parkway.schemas.events import Event, EventError
from parkway.workers.effects import Effects, Failure, Task
from parkway.workers.limiter import Limiter
from parkway.workers.times import now

_log = get_logger("worker")

_TRACEBACK_CHARACTERS: Final = 4_000
_OURS: Final = frozenset({"parkway", "pydantic"})  # packages in whose lines nobody looks for a mistake of the agent
_LAST_TIME: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


class _TooLateError(Exception):
    """The deadline came while the method ran."""


class _AttemptTimeoutError(TimeoutError):
    """The action's `timeout` ended an attempt."""


class UserAction:
    """Runs one method of an agent; implements `effects.Action`. `limiter` is the action's own rate.

    `sinks` are the agent's, opened; `max_state_bytes` bounds what is remembered of a key. Raises AgentError for a
    method whose signature is no handler's.
    """

    def __init__(
        self,
        agent: Agent,
        spec: ActionSpec,
        limiter: Limiter | None = None,
        *,
        sinks: Sinks | None = None,
        max_state_bytes: int = 100_000,
    ) -> None:
        self.name = spec.name
        self._method = getattr(agent, spec.method)
        self._is_async = inspect.iscoroutinefunction(self._method)
        self._binding = binding_of(spec.where, spec.function)
        self._retry = spec.options.retry
        self._timeout = spec.options.timeout
        self._seconds = spec.options.deadline
        self._limiter = limiter
        self._sinks = sinks or {}
        self._keeps_state = spec.options.state
        self._max_state_bytes = max_state_bytes

    def limiter(self, task: Task) -> Limiter | None:  # noqa: ARG002  (the protocol's signature)
        """The action's own rate, which every attempt counts in."""
        return self._limiter

    async def handle(self, task: Task) -> Effects:
        """One attempt. Asks to be called again while the retry policy allows; a call that raised sent nothing."""
        deadline = self._deadline(task)
        if deadline is not None and deadline <= now():
            return self.expired(task)
        try:
            if deadline is None and self._timeout is None:
                return await self._attempt(task, None)
            return await self._before(deadline, task)
        except _TooLateError:
            self._log_failure("action_deadline_exceeded", task.attempt)
            return self.expired(task)
        except (Exception, SystemExit) as error:
            wait = self._retry.wait_after(task.attempt)
            if self._may_try_again(task, error, wait, deadline):
                self._log_failure("action_attempt_failed", task.attempt, error)
                return Effects(again=wait)
            self._log_failure("action_failed", task.attempt, error)
            return _action_failed(error, task.attempt)

    def expired(self, task: Task) -> Effects:
        """Give the failure of a record whose time was over before the method had handled it."""
        message = f"event {task.event.get('id')!r} was not handled by its deadline"
        if task.held_up_by is not None:
            message += f": it waited for the rate of {task.held_up_by}"
        return _failure(DlqReason.DEADLINE_EXCEEDED, message, task.attempt)

    def cancelled(self, task: Task, reason: str | None) -> Effects:  # noqa: ARG002  (the protocol's signature)
        """Give the failure of a record that was cancelled: nothing does so yet, since user actions park nothing."""
        return _failure(DlqReason.ACTION_FAILED, f"cancelled: event {task.event.get('id')!r}")

    def failed(self, task: Task, error: Exception) -> Effects:
        """Give the failure for an exception that this class let out."""
        return _action_failed(error, task.attempt)

    def _deadline(self, task: Task) -> float | None:
        """Seconds since 1970."""
        if task.asked_deadline is not None:
            return min(task.asked_deadline / 1000, _LAST_TIME)
        return task.since / 1000 + self._seconds if self._seconds is not None else None

    def _may_try_again(self, task: Task, error: BaseException, wait: float, deadline: float | None) -> bool:
        if task.attempt >= self._retry.attempts or not isinstance(error, self._retry.on):
            return False
        last = task.since / 1000 + self._retry.max_hold
        if deadline is not None:
            last = min(last, deadline)
        return now() + wait <= last

    async def _before(self, deadline: float | None, task: Task) -> Effects:
        """Raises _TooLateError at the deadline, TimeoutError when the attempt takes too long."""
        whole = asyncio.timeout(deadline - now() if deadline is not None else None)
        one = asyncio.timeout(self._timeout)
        effects, cause = None, None
        try:
            async with whole, one:
                effects = await self._attempt(task, deadline)
        except TimeoutError as error:
            if not whole.expired() and not one.expired():
                raise  # the handler's own
            cause = error
        # Also of a handler that caught its cancellation and went on: what it brings comes too late all the same.
        if whole.expired():
            raise _TooLateError from None
        if effects is None or one.expired():
            raise _AttemptTimeoutError(f"the attempt took longer than {self._timeout:g} s (timeout)") from cause
        return effects

    async def _attempt(self, task: Task, deadline: float | None) -> Effects:
        attributes: Mapping[str, Any] = task.event.get("attributes") or {}
        try:
            event = Event.own(task.event)
            context = Context(
                self.name,
                event,
                record_key=task.record_key,
                root_id=task.root_id,
                attempt=task.attempt,
                deadline=datetime.fromtimestamp(deadline, UTC) if deadline is not None else None,
                sinks=self._sinks,
                state=partial(self._state, task) if self._keeps_state else None,
                steps=task.steps,
            )
            arguments = self._binding.arguments(event, attributes, context)
        except (EventError, BodyError) as error:
            return _failure(DlqReason.BAD_REQUEST, str(error), task.attempt)
        try:
            if self._is_async:
                returned = await self._method(*arguments)
            else:
                returned = await run_in_thread(self._method, *arguments)
        except asyncio.CancelledError as error:
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
            # Nobody cancelled this record: it must end, not stay in hand for ever.
            raise RuntimeError("the handler awaited something that was cancelled") from error
        finally:
            context.close()
        if isinstance(returned, Event):
            raise TypeError(f"the handler returned an event ({returned.type!r}); send it with ctx.send(event)")
        sent = context.sent()
        return Effects(sent.events, sent.outputs, payloads=sent.payloads, state=sent.state)

    def _state(self, task: Task) -> State:
        assert task.record_key is not None, "the context asks for none without a key"
        return State(self.name, task.record_key, task.state, self._max_state_bytes)

    def _log_failure(self, event: str, attempt: int, error: BaseException | None = None) -> None:
        metrics.ATTEMPTS_FAILED.labels(self.name).inc()
        kind = _kind(error) if error is not None else "deadline"
        trace.get_current_span().add_event(event, {"parkway.attempt": attempt, "error.type": kind})
        # The place and the kind only: the text of an error may quote what the event contains.
        described = {} if error is None else {"error_type": kind, "at": _place(error)}
        if isinstance(error, _AttemptTimeoutError):
            described = {"error_type": kind, "detail": str(error)}
        _log.warning(event, action=self.name, attempt=attempt, attempts=self._retry.attempts, **described)


def _failure(reason: DlqReason, message: str, attempts: int = 1) -> Effects:
    return Effects(failure=Failure(reason, message, attempts))


def _action_failed(error: BaseException, attempts: int) -> Effects:
    kind = _kind(error)
    plain = f"{kind} at {_place(error)}" if error.__traceback__ is not None else kind
    if isinstance(error, _AttemptTimeoutError):  # its text is ours, and its place in the code says nothing
        plain = f"{kind}: {error}"
    end = "".join(traceback.format_exception(error))[-_TRACEBACK_CHARACTERS:]
    return Effects(failure=Failure(DlqReason.ACTION_FAILED, f"{kind}: {error}", attempts, plain, end))


def _kind(error: BaseException) -> str:
    return "TimeoutError" if isinstance(error, _AttemptTimeoutError) else type(error).__name__


def _place(error: BaseException) -> str:
    """The innermost line that the author may know: a wrong call of ours raises in ours, and is wrong in theirs."""
    frames = [
        (frame.f_globals.get("__name__", ""), frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    theirs = [each for each in frames if each[0].partition(".")[0] not in _OURS]
    for _, frame, line in reversed(theirs or frames):
        return f"{frame.f_code.co_filename}:{line}"
    return "?"
