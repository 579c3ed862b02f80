"""The tool action: runs the calls of a tool request at once and answers with all their results.

A call that a person must allow waits: the request is parked with what its other calls gave, and each answer takes it
up again, until every call has a result.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from parkway.runtime import metrics
from parkway.schemas import jsonio
from parkway.schemas.errors import DlqReason
from parkway.schemas.events import ApprovalResponseEvent, Event, EventError, ToolRequestEvent, ToolResponseEvent
from parkway.schemas.messages import ToolCall
from parkway.schemas.parked import ParkedApproval, ParkedRecord
from parkway.workers.actions.tool_call import CallRunner
from parkway.workers.actions.tool_outcome import Kept, Outcome, ToolState, denied, describe, failure
from parkway.workers.actions.tool_result import MAX_RESULT_BYTES
from parkway.workers.actions.toolbox import AnyTool, Toolbox, ToolSource
from parkway.workers.effects import Ask, Effects, Failure, JournalEntry, Park, Task
from parkway.workers.times import now_ms

MAX_STATE_BYTES: Final = 900_000
_NOBODY: Final = "nobody answered in time"
# What is left of a request's time when its approvals expire: its chat shall hear of the denial, and say something.
_LEFT_SHARE: Final = 0.1
_LEFT_MS: Final = 60_000


class ToolAction:
    """Runs tool requests with the agent's tools (DESIGN 7.4).

    A failing tool is an answer, not an error: its text stands in `responses`, the reason in `error`. What a tool may
    know of its call is its `ToolContext`. A result beyond `max_result_bytes` of JSON is cut. A sync tool that runs
    out of time goes on in its thread; its result is dropped. Results are kept for calls that wait for a person up to
    `max_state_bytes`, measured with the request.
    """

    def __init__(
        self,
        tools: Mapping[str, AnyTool],
        name: str = "tool",
        *,
        sources: Sequence[ToolSource] = (),
        max_result_bytes: int = MAX_RESULT_BYTES,
        max_state_bytes: int = MAX_STATE_BYTES,
    ) -> None:
        self.name = name
        self._toolbox = Toolbox(tools, sources)
        self._max_result_bytes = max_result_bytes
        self._max_state_bytes = max_state_bytes

    async def handle(self, task: Task) -> Effects:
        """Run what may run, and answer or wait. Raises nothing but CancelledError, and then there is no response."""
        try:
            request = _read(_request_of(task))
        except EventError as error:
            return _unreadable(error)
        if task.parked is not None:
            return await self._go_on(task, task.parked, request)
        runner = CallRunner(self._toolbox, task, request.id, task.deadline, self._max_result_bytes)
        outcomes, asks, expires = await self._begin(request, runner, task.deadline)
        if not asks:
            return _respond(request, outcomes, runner.journal)
        park = _park(outcomes, ToolState(deadline=task.deadline), expires, asks={ask.call.id: ask for ask in asks})
        if self._is_too_large(request, park):
            outcomes |= {ask.call.id: failure(ask.call, "no room to wait for a person") for ask in asks}
            return _respond(request, outcomes, runner.journal)
        for ask in asks:
            metrics.APPROVALS.labels(ask.call.function.name, "asked").inc()
        return Effects(park=park, journal=runner.journal)

    def limiter(self, task: Task) -> None:
        """None: tools have no rate."""

    def expired(self, task: Task) -> Effects:
        """Waiting calls are denied; what was not begun has failed."""
        if task.parked is not None:
            return self._expire(task.parked)
        return self._all_failed(task, f"the deadline ({task.deadline} ms since 1970) has passed")

    def cancelled(self, task: Task, reason: str | None) -> Effects:  # noqa: ARG002  (the protocol's signature)
        """Send nothing: nobody waits for the results any more."""
        return Effects()

    def failed(self, task: Task, error: Exception) -> Effects:
        return self._all_failed(task, describe(error))

    async def _begin(
        self, request: ToolRequestEvent, runner: CallRunner, deadline: int
    ) -> tuple[dict[str, Outcome], list[Ask], int]:
        """Run what may run at once. The outcomes, what a person is asked about, and when that expires."""
        expires = deadline - min(_LEFT_MS, int((deadline - now_ms()) * _LEFT_SHARE))
        asked = await asyncio.gather(*(runner.asks(call) for call in request.tool_calls))
        asks: list[Ask] = []
        running: dict[str, asyncio.Task[Outcome]] = {}
        async with asyncio.TaskGroup() as group:
            for call, answer in zip(request.tool_calls, asked, strict=True):
                if isinstance(answer, tuple):
                    tool, reason = answer
                    asks.append(Ask(call, reason or None))
                    if tool.approval.timeout is not None:
                        expires = min(expires, now_ms() + int(tool.approval.timeout * 1000))
                else:
                    running[call.id] = group.create_task(runner.run(call, answer))
        return {call_id: done.result() for call_id, done in running.items()}, asks, expires

    async def _go_on(self, task: Task, parked: ParkedRecord, request: ToolRequestEvent) -> Effects:
        """A person has decided about one call."""
        answer = Event.parse(task.event)
        if not isinstance(answer, ApprovalResponseEvent):
            raise TypeError(f"a parked tool request is resumed by an approval, not by a {answer.type}")
        call = next(one for one in request.tool_calls if _has_token(parked.approvals.get(one.id), answer.token))
        if now_ms() >= parked.deadline:
            return self._expire(parked)
        state = ToolState.from_json(parked.state)
        runner = CallRunner(self._toolbox, task, request.id, state.deadline, self._max_result_bytes)
        metrics.APPROVALS.labels(call.function.name, "approved" if answer.approved else "denied").inc()
        journal = [_decided(call, parked.approvals[call.id], answer.reason, approved=answer.approved)]
        outcome = await runner.run(call) if answer.approved else denied(call, answer.reason)
        outcomes = state.outcomes() | {call.id: outcome}
        journal += runner.journal
        left = {call_id: one for call_id, one in parked.approvals.items() if call_id != call.id}
        if not left:
            return _respond(request, outcomes, journal)
        park = _park(outcomes, state, parked.deadline, approvals=left, round_=parked.round + 1)
        if self._is_too_large(request, park):
            missing = [one for one in request.tool_calls if one.id in left]
            outcomes |= {one.id: failure(one, "no room to wait for a person") for one in missing}
            return _respond(request, outcomes, journal)
        return Effects(park=park, journal=journal)

    def _expire(self, parked: ParkedRecord) -> Effects:
        request = _read(parked.request)
        journal: list[JournalEntry] = []
        outcomes = ToolState.from_json(parked.state).outcomes()
        for call in request.tool_calls:
            if call.id in parked.approvals:
                outcomes[call.id] = denied(call, _NOBODY)
                metrics.APPROVALS.labels(call.function.name, "expired").inc()
                journal.append(_decided(call, parked.approvals[call.id], _NOBODY, approved=False))
        return _respond(request, outcomes, journal)

    def _all_failed(self, task: Task, diagnostic: str) -> Effects:
        """All that have no result yet."""
        try:
            request = _read(_request_of(task))
        except EventError as error:
            return _unreadable(error)
        outcomes = {call.id: failure(call, diagnostic) for call in request.tool_calls}
        if task.parked is not None:
            outcomes |= ToolState.from_json(task.parked.state).outcomes()
        return _respond(request, outcomes, [])

    def _is_too_large(self, request: ToolRequestEvent, park: Park) -> bool:
        return len(jsonio.dumps(park.state)) + 2 * len(request.to_json()) > self._max_state_bytes


def _request_of(task: Task) -> Mapping[str, Any]:
    return task.parked.request if task.parked is not None else task.event


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


def _park(
    outcomes: Mapping[str, Outcome],
    state: ToolState,
    expires: int,
    *,
    asks: Mapping[str, Ask] | None = None,
    approvals: Mapping[str, ParkedApproval] | None = None,
    round_: int = 1,
) -> Park:
    asks, approvals = asks or {}, approvals or {}
    results = {call_id: Kept(value=one.value, diagnostic=one.diagnostic) for call_id, one in outcomes.items()}
    return Park(
        waits_for="",
        pending_calls=(*asks, *approvals),
        state=ToolState(results=results, deadline=state.deadline).model_dump(mode="json"),
        round=round_,
        deadline=expires,
        asks=tuple(asks.values()),
        approvals=approvals,
        awaits_person=True,
    )


def _has_token(approval: ParkedApproval | None, token: str) -> bool:
    return approval is not None and approval.token == token


def _decided(call: ToolCall, approval: ParkedApproval, reason: str | None, *, approved: bool) -> JournalEntry:
    return JournalEntry(
        kind="approval",
        name=call.function.name,
        call_id=call.id,
        started_at=approval.asked_at,
        ended_at=now_ms(),
        outcome="approved" if approved else "denied",
        content={"arguments": call.function.arguments, "asked_because": approval.reason, "reason": reason},
    )


def _respond(request: ToolRequestEvent, outcomes: Mapping[str, Outcome], journal: list[JournalEntry]) -> Effects:
    in_order = {call.id: outcomes[call.id] for call in request.tool_calls}
    response = ToolResponseEvent(
        request_id=request.id,
        responses={call_id: outcome.value for call_id, outcome in in_order.items()},
        success={call_id: outcome.success for call_id, outcome in in_order.items()},
        error={call_id: outcome.diagnostic for call_id, outcome in in_order.items() if outcome.diagnostic is not None},
        external_ids={call.id: call.original_id for call in request.tool_calls},
        user_context=request.user_context,
    )
    return Effects(response=response, journal=journal)
