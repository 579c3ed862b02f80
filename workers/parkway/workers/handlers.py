"""The handlers that run, and what each of them gives back: always a result (DESIGN 7.1).

No record takes the worker, and so its neighbours, down: what its action raises ends that record.
"""

import asyncio
import time
import types
from collections.abc import Callable, Generator
from contextvars import copy_context

from opentelemetry.trace import Span
from structlog.contextvars import bind_contextvars

from parkway.runtime import tracing
from parkway.runtime.logs import get_logger
from parkway.schemas.errors import DlqReason
from parkway.workers.adoption import Carried
from parkway.workers.dispatch import place
from parkway.workers.effects import Action, Effects, Task
from parkway.workers.governor import Governor
from parkway.workers.limiter import Permit
from parkway.workers.results import ResultBuilder
from parkway.workers.slots import Slots
from parkway.workers.spans import NO_SPAN, describe_end, handling
from parkway.workers.vitals import Vitals
from parkway.workers.work import Result, Work


class Handlers:
    """One asyncio task for each record that runs, in the epoch in force. Used on the event loop only.

    `finished` gets each result; what it raises, and what is our own failure, goes to `crashed`. Handlers of ended
    epochs are no longer here: they run on in `carried`, until an assignment adopts them.
    """

    def __init__(
        self,
        action: Action,
        group: str,
        builder: ResultBuilder,
        slots: Slots,
        governor: Governor,
        carried: Carried,
        vitals: Vitals,
        *,
        capture_content: bool,
        finished: Callable[[Work, Result], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        self._action = action
        self._group = group
        self._builder = builder
        self._slots = slots
        self._governor = governor
        self._carried = carried
        self._vitals = vitals
        self._capture_content = capture_content
        self._finished = finished
        self._crashed = crashed
        self._log = get_logger("worker").bind(action=action.name)
        self._running: dict[Work, asyncio.Task[None]] = {}
        # Each handler runs in a copy: what one sets is not seen by the next. The user's log lines name the action, too.
        self._context = copy_context()
        self._context.run(bind_contextvars, action=action.name)

    def __len__(self) -> int:
        return len(self._running)

    def running(self) -> list[Work]:
        return list(self._running)

    def start(self, work: Work, task: Task, permit: Permit | None) -> None:
        """Run the action; there is a free slot."""
        self._slots.take()
        self._governor.started()
        running = self._handle(work, task, permit)
        running.send(None)  # up to `_begun`
        self._running[work] = asyncio.get_running_loop().create_task(running, context=self._context.copy())

    def adopt(self, work: Work, running: asyncio.Task[None]) -> None:
        """A handler of an ended epoch goes on in this one."""
        self._running[work] = running

    def end_epoch(self) -> None:
        """They run on, elsewhere."""
        self._carried.carry(self._running)
        self._running.clear()

    def stop(self, partition: int, request_id: str) -> Work | None:
        """Cancel the handler that holds the claim of this request, if one does; what it gives back is dropped."""
        for work, running in self._running.items():
            if work.partition == partition and work.request_id == request_id:
                del self._running[work]
                running.cancel()
                return work
        return None

    async def wait(self, seconds: float) -> None:
        """Until all that run now have ended, or the time is over."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)

    def raised(self, work: Work, task: Task, error: BaseException) -> Result:
        """The end of a record whose action raised."""
        # The text of an error may quote what the event contains.
        detail = {"exc_info": error} if self._capture_content else {"error_type": type(error).__name__}
        self._log.error("action_raised", origin=place(work.record), **detail)
        known = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
        try:
            return self._builder.handled(work, task, self._action.failed(task, known))
        except Exception as second:
            self._log.exception("failure_not_written", origin=place(work.record))
            return self._builder.dead(work, DlqReason.ACTION_FAILED, type(second).__name__, task)

    async def _handle(self, work: Work, task: Task, permit: Permit | None) -> None:
        """One record, and its end: here, as a callback of the task would cost as much as the task."""
        try:
            await _begun()
            await self._until_finished(work, task)
        except GeneratorExit:  # the loop is gone
            raise
        except BaseException as error:
            self._ended(permit)
            if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
                raise
            self._crashed(error)  # ours, not the handler's: it must not leave a record in hand for ever
        else:
            self._ended(permit)

    async def _until_finished(self, work: Work, task: Task) -> None:
        began = time.perf_counter()
        if tracing.tracer() is None:
            outcome, result = await self._run(work, task, NO_SPAN)
        else:
            with handling(self._action.name, self._group, work, task) as span:
                outcome, result = await self._run(work, task, span)
        if self._running.pop(work, None) is None:
            self._carried.finished(work, result)  # its epoch has ended; the next one may adopt it
            return
        self._vitals.handled(outcome, time.perf_counter() - began)
        self._finished(work, result)

    async def _run(self, work: Work, task: Task, span: Span) -> tuple[str, Result]:
        """Run the action. Its outcome, and the result of the record: there is always one."""
        outcome, effects, raised = "failed", None, None
        try:
            effects = await self._action.handle(task)
            result = self._builder.handled(work, task, effects)
            outcome = _outcome(effects)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            current = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and current is not None and current.cancelling():
                raise  # by us; an action that lets one out by itself must end its record all the same
            raised = error
            result = self.raised(work, task, error)
        describe_end(span, outcome, effects, raised)
        return outcome, result

    def _ended(self, permit: Permit | None) -> None:
        self._slots.give_back()
        if permit is not None:
            permit.end()
        try:
            self._governor.ended()
        except Exception as failure:  # of a record that could start now
            self._crashed(failure)


@types.coroutine
def _begun() -> Generator[None, None, None]:
    """Where a coroutine stands when its task takes it over.

    One that is cancelled before the first step of its task would never be entered, and so end nothing.
    """
    yield


def _outcome(effects: Effects) -> str:
    if effects.failure is not None:
        return "failed"
    if effects.again is not None:
        return "again"
    return "parked" if effects.park is not None else "done"
