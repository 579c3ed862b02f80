"""The user action: a method of the user's agent, its retries, and what it sent."""

import asyncio
import inspect
import time
import traceback
from collections.abc import Mapping
from typing import Any

from opentelemetry import trace

from parkway.agents.action import ActionSpec
from parkway.agents.agent import Agent
from parkway.agents.context import Context
from parkway.agents.handler import BodyError, binding_of
from parkway.agents.threads import run_in_thread
from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.schemas import jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.events import Event, EventError
from parkway.workers.effects import Effects, Failure, Task

_log = get_logger("worker")


class UserAction:
    """Runs one method of an agent; implements `effects.Action`.

    Raises AgentError for a method whose signature is no handler's.
    """

    def __init__(self, agent: Agent, spec: ActionSpec) -> None:
        self.name = spec.name
        self._method = getattr(agent, spec.method)
        self._is_async = inspect.iscoroutinefunction(self._method)
        self._binding = binding_of(spec.where, spec.function)
        self._retry = spec.options.retry

    async def handle(self, task: Task) -> Effects:
        """Call the method until it returns, or its attempts are used up. A call that raised sent nothing."""
        # Each attempt decodes its own: the one before may have changed its event.
        body = jsonio.dumps(task.event)
        began = time.monotonic()
        attempt = 1
        while True:
            try:
                return await self._attempt(body, task, attempt)
            except (Exception, SystemExit) as error:
                wait = self._retry.wait_after(attempt)
                too_long = time.monotonic() - began + wait > self._retry.max_hold
                if attempt >= self._retry.attempts or too_long or not isinstance(error, self._retry.on):
                    self._log_failure("action_failed", error, attempt)
                    return _failure(DlqReason.ACTION_FAILED, f"{type(error).__name__}: {error}", attempt)
                self._log_failure("action_attempt_failed", error, attempt)
            await asyncio.sleep(wait)
            attempt += 1

    def expired(self, task: Task) -> Effects:
        """Give the failure of a record whose time was over before the method could handle it."""
        message = f"deadline_exceeded: event {task.event.get('id')!r} was not handled by its deadline"
        return _failure(DlqReason.ACTION_FAILED, message)

    def failed(self, task: Task, error: Exception) -> Effects:  # noqa: ARG002  (the protocol's signature)
        """Give the failure for an exception that this class let out."""
        return _failure(DlqReason.ACTION_FAILED, f"{type(error).__name__}: {error}")

    async def _attempt(self, body: bytes, task: Task, attempt: int) -> Effects:
        attributes: Mapping[str, Any] = task.event.get("attributes") or {}
        try:
            event = Event.parse(body)
            context = Context(self.name, event, record_key=task.record_key, attempt=attempt)
            arguments = self._binding.arguments(event, attributes, context)
        except (EventError, BodyError) as error:
            return _failure(DlqReason.BAD_REQUEST, str(error), attempt)
        try:
            returned = await self._call(arguments)
        finally:
            events, outputs = context.close()
        if isinstance(returned, Event):
            raise TypeError(f"the handler returned an event ({returned.type!r}); send it with ctx.send(event)")
        return Effects(events=events, outputs=outputs)

    async def _call(self, arguments: tuple[Any, ...]) -> Any:
        try:
            if self._is_async:
                return await self._method(*arguments)
            return await run_in_thread(self._method, *arguments)
        except asyncio.CancelledError as error:
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
            # Nobody cancelled this record: it must end, not stay in hand for ever.
            raise RuntimeError("the handler awaited something that was cancelled") from error

    def _log_failure(self, event: str, error: BaseException, attempt: int) -> None:
        metrics.ATTEMPTS_FAILED.labels(self.name).inc()
        trace.get_current_span().add_event(event, {"parkway.attempt": attempt, "error.type": type(error).__name__})
        # The place and the kind only: the text of an error may quote what the event contains.
        last = traceback.extract_tb(error.__traceback__)[-1]
        _log.warning(
            event,
            action=self.name,
            attempt=attempt,
            attempts=self._retry.attempts,
            error_type=type(error).__name__,
            at=f"{last.filename}:{last.lineno}",
        )


def _failure(reason: DlqReason, message: str, attempts: int = 1) -> Effects:
    return Effects(failure=Failure(reason, message, attempts))
