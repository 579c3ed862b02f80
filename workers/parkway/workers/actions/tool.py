"""The tool action: runs the calls of a tool request at once and answers with all their results."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from parkway.agents.errors import ToolArgumentsError
from parkway.agents.tool import Tool
from parkway.runtime import metrics
from parkway.runtime.tracing import inner_span, mark_failed
from parkway.schemas.errors import DlqReason
from parkway.schemas.events import Event, EventError, ToolRequestEvent, ToolResponseEvent
from parkway.schemas.messages import ToolCall
from parkway.workers.actions.tool_result import MAX_RESULT_BYTES, json_result
from parkway.workers.effects import Effects, Failure, Task
from parkway.workers.times import now

_MAX_DIAGNOSTIC: Final = 2_000  # characters


@dataclass(frozen=True, slots=True)
class _Outcome:
    """`diagnostic` is None for a success; of a failure, `value` is the text that the model is shown."""

    value: Any
    diagnostic: str | None = None
    kind: str = "ok"  # for metrics: ok, failed, timeout, bad_arguments


class ToolAction:
    """Runs tool requests with the agent's tools (DESIGN 7.4).

    A failing tool is an answer, not an error: its text stands in `responses`, the reason in `error`. A tool
    may ask for the injected argument `idempotency_key`, `<tool request id>/<call id>`: the same again when
    the request is redelivered after a crash, and never that of another call. A result beyond
    `max_result_bytes` of JSON is cut. A sync tool that runs out of time goes on in its thread; its result is
    dropped.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool[..., Any]],
        name: str = "tool",
        *,
        max_result_bytes: int = MAX_RESULT_BYTES,
    ) -> None:
        self.name = name
        self._tools = dict(tools)
        self._max_result_bytes = max_result_bytes

    async def handle(self, task: Task) -> Effects:
        """Run all calls and answer. Raises nothing but CancelledError, and then there is no response."""
        try:
            request = _read(task.event)
        except EventError as error:
            return _unreadable(error)
        seconds_left = task.deadline / 1000 - now()
        async with asyncio.TaskGroup() as group:
            running = {
                call.id: group.create_task(self._call(request.id, call, seconds_left)) for call in request.tool_calls
            }
        return _respond(request, {call_id: done.result() for call_id, done in running.items()})

    def limiter(self, task: Task) -> None:
        """None: tools have no rate."""

    def expired(self, task: Task) -> Effects:
        return self._all_failed(task, f"the deadline ({task.deadline} ms since 1970) has passed")

    def cancelled(self, task: Task, reason: str | None) -> Effects:  # noqa: ARG002  (the protocol's signature)
        """Send nothing: nobody waits for the results any more."""
        return Effects()

    def failed(self, task: Task, error: Exception) -> Effects:
        return self._all_failed(task, _describe(error))

    def _all_failed(self, task: Task, diagnostic: str) -> Effects:
        try:
            request = _read(task.event)
        except EventError as error:
            return _unreadable(error)
        return _respond(request, {call.id: _failure(call, diagnostic) for call in request.tool_calls})

    async def _call(self, request_id: str, call: ToolCall, seconds_left: float) -> _Outcome:
        """One call, in a span of its own, counted."""
        name = call.function.name
        known = name if name in self._tools else "unknown"  # a model may invent any name
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": known,
            "gen_ai.tool.call.id": call.original_id or call.id,
        }
        began, kind = time.perf_counter(), "cancelled"
        with inner_span(f"execute_tool {known}", attributes) as span:
            try:
                outcome = await self._outcome(request_id, call, seconds_left)
                kind = outcome.kind
            finally:
                metrics.TOOL_SECONDS.labels(known, kind).observe(time.perf_counter() - began)
            if kind != "ok":
                mark_failed(span, kind)
        return outcome

    async def _outcome(self, request_id: str, call: ToolCall, seconds_left: float) -> _Outcome:
        tool = self._tools.get(call.function.name)
        if tool is None:
            text = f"Tool `{call.function.name}` does not exist."
            return _Outcome(text, text, "failed")
        seconds = min(tool.timeout, seconds_left)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                injected = {"idempotency_key": f"{request_id}/{call.id}"}
                result = await tool.call(call.function.arguments, injected)
            return _Outcome(json_result(result, self._max_result_bytes))
        except ToolArgumentsError as error:
            # The model must see what it got wrong, or it cannot do better.
            return _Outcome(f"{_failed_text(call)} {error}", str(error)[:_MAX_DIAGNOSTIC], "bad_arguments")
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            return _failure(call, "the tool raised CancelledError")
        except (Exception, SystemExit) as error:
            if limit.expired():
                return _failure(call, f"timed out after {seconds:g} s", "timeout")
            return _failure(call, _describe(error))


def _read(event: Mapping[str, Any]) -> ToolRequestEvent:
    """Raises EventError for attributes that are no tool request, or that name one call id twice."""
    request = Event.parse(event)
    if not isinstance(request, ToolRequestEvent):
        raise EventError(f"a {request.type} is not a tool request")
    ids = [call.id for call in request.tool_calls]
    for call_id in ids:
        if ids.count(call_id) > 1:
            raise EventError(f"tool_calls: the call id {call_id!r} stands there twice; each needs its own")
    return request


def _unreadable(error: EventError) -> Effects:
    return Effects(failure=Failure(DlqReason.BAD_REQUEST, str(error)))


def _respond(request: ToolRequestEvent, outcomes: Mapping[str, _Outcome]) -> Effects:
    response = ToolResponseEvent(
        request_id=request.id,
        responses={call_id: outcome.value for call_id, outcome in outcomes.items()},
        success={call_id: outcome.diagnostic is None for call_id, outcome in outcomes.items()},
        error={call_id: outcome.diagnostic for call_id, outcome in outcomes.items() if outcome.diagnostic is not None},
        external_ids={call.id: call.original_id for call in request.tool_calls},
        user_context=request.user_context,
    )
    return Effects(response=response)


def _failed_text(call: ToolCall) -> str:
    return f"Tool `{call.function.name}` execute failed."


def _failure(call: ToolCall, diagnostic: str, kind: str = "failed") -> _Outcome:
    return _Outcome(_failed_text(call), diagnostic, kind)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_MAX_DIAGNOSTIC]


def _is_cancelled() -> bool:
    """Whether this task is being cancelled, rather than that a tool raised CancelledError by itself."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0
