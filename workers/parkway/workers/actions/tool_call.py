"""One tool call: found, checked, run within its time; its span, its metric, its line in the journal."""

import asyncio
import time
from typing import Final

from parkway.agents.errors import ToolArgumentsError
from parkway.agents.tool_context import ToolContext
from parkway.runtime import metrics
from parkway.runtime.tracing import inner_span, mark_failed
from parkway.schemas import headers
from parkway.schemas.messages import ToolCall
from parkway.workers.actions.tool_outcome import Outcome, describe, failed_text, failure, shortened, unknown_tool
from parkway.workers.actions.tool_result import json_result
from parkway.workers.actions.toolbox import AnyTool, Toolbox, ToolFailedError
from parkway.workers.effects import JournalEntry, Task
from parkway.workers.times import as_datetime, now, now_ms

_UNKNOWN: Final = "unknown"  # a model may invent any name


class CallRunner:
    """Runs the calls of one tool request. `deadline` (ms since 1970) is the request's."""

    def __init__(self, toolbox: Toolbox, task: Task, request_id: str, deadline: int, max_result_bytes: int) -> None:
        self._toolbox = toolbox
        self._request_id = request_id
        self._deadline = deadline
        self._max_result_bytes = max_result_bytes
        self._tenant, self._subject = _who(task)
        self.journal: list[JournalEntry] = []

    async def asks(self, call: ToolCall) -> tuple[AnyTool, str] | Outcome | None:
        """The tool and why a person must allow this call; None: it may run. An outcome: it cannot run at all."""
        tool = await self._find(call)
        if isinstance(tool, Outcome):
            return tool
        if not tool.approval.may_ask:
            return None
        try:
            reason = tool.approval.reason(tool.check(call.function.arguments))
        except ToolArgumentsError:
            return None  # it says so itself, and needs no person for it
        return (tool, reason) if reason is not None else None

    async def run(self, call: ToolCall, cannot: Outcome | None = None) -> Outcome:
        """One call, in a span of its own, counted. `cannot`: it is known not to be able to run, and how that ends."""
        began, started_at, kind = time.perf_counter(), now_ms(), "cancelled"
        tool = cannot or await self._find(call)
        known = _UNKNOWN if isinstance(tool, Outcome) else tool.name
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": known,
            "gen_ai.tool.call.id": call.original_id or call.id,
        }
        with inner_span(f"execute_tool {known}", attributes) as span:
            try:
                outcome = tool if isinstance(tool, Outcome) else await self._outcome(tool, call)
                kind = outcome.kind
            finally:
                metrics.TOOL_SECONDS.labels(known, kind).observe(time.perf_counter() - began)
            if kind != "ok":
                mark_failed(span, kind)
        self.journal.append(
            JournalEntry(
                kind="tool_call",
                name=known,
                call_id=call.id,
                started_at=started_at,
                ended_at=now_ms(),
                outcome="success" if outcome.success else "failed",
                error_type="timeout" if kind == "timeout" else None,
                content={"arguments": call.function.arguments, "result": outcome.value, "error": outcome.diagnostic},
            )
        )
        return outcome

    async def _find(self, call: ToolCall) -> AnyTool | Outcome:
        try:
            async with asyncio.timeout(self._seconds_left()):
                tool = await self._toolbox.find(call.function.name)
        except (ToolFailedError, TimeoutError) as error:
            return failure(call, str(error) or "no answer from its server before the deadline")
        return tool if tool is not None else unknown_tool(call.function.name)

    async def _outcome(self, tool: AnyTool, call: ToolCall) -> Outcome:
        seconds = min(tool.timeout, self._seconds_left())
        limit = asyncio.timeout(seconds)
        largest = tool.max_result_bytes or self._max_result_bytes
        try:
            async with limit:
                result = await tool.call(call.function.arguments, self._context(call))
            return Outcome(json_result(result, largest))
        except ToolArgumentsError as error:
            # The model must see what it got wrong, or it cannot do better.
            text = f"{failed_text(call.function.name)} {error}"
            return Outcome(text, shortened(str(error)), "bad_arguments")
        except ToolFailedError as error:
            shown = f"{failed_text(call.function.name)} {error.shown}" if error.shown else None
            if shown is None:
                return failure(call, str(error))
            return Outcome(json_result(shown, largest), shortened(str(error)), "failed")
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            return failure(call, "the tool raised CancelledError")
        except (Exception, SystemExit) as error:
            if limit.expired():
                return failure(call, f"timed out after {seconds:g} s", "timeout")
            return failure(call, describe(error))

    def _seconds_left(self) -> float:
        return self._deadline / 1000 - now()

    def _context(self, call: ToolCall) -> ToolContext:
        return ToolContext(
            tool=call.function.name,
            request_id=self._request_id,
            call_id=call.id,
            idempotency_key=f"{self._request_id}/{call.id}",
            deadline=as_datetime(self._deadline),
            tenant=self._tenant,
            subject=self._subject,
        )


def _who(task: Task) -> tuple[str | None, str | None]:
    """Tenant and subject."""
    if task.parked is not None:
        carried = task.parked.origin.headers
        return carried.get(headers.TENANT), carried.get(headers.SUBJECT)
    given = headers.as_dict(task.record_headers)
    tenant, subject = given.get(headers.TENANT), given.get(headers.SUBJECT)
    return (
        tenant.decode("utf-8", "replace") if tenant is not None else None,
        subject.decode("utf-8", "replace") if subject is not None else None,
    )


def _is_cancelled() -> bool:
    """Whether this task is being cancelled, rather than that a tool raised CancelledError by itself."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0
