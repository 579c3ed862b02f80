"""The worker of one action: what is taken is dispatched, what is finished is committed (DESIGN 7.1).

Everything here runs on the event loop; consumer threads and the producer's thread post to it. Life of an epoch:
`assigned` -> restore (on a thread) -> both topics are started -> `taken` ... -> `revoked`, which returns only
when nothing of the epoch is in a transaction any more.

A revoke commits what is finished and cancels nothing: handlers run on, and the next assignment adopts those whose
partition comes back (adoption.py).
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, TypeVar

from confluent_kafka.admin import AdminClient
from opentelemetry.trace import Span
from structlog.contextvars import bind_contextvars

from parkway.runtime.codec import EventCodec
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming
from parkway.runtime.settings import Settings
from parkway.schemas.avro.codec import RegistryUnavailableError
from parkway.schemas.errors import DlqReason
from parkway.schemas.event_types import EventType
from parkway.schemas.plan import ActionPlan
from parkway.workers.admission import Admission
from parkway.workers.adoption import Carried
from parkway.workers.assignment import CATCH_UP_SECONDS, Assignment, Partition, completed_offsets
from parkway.workers.backlog import Backlog, Start
from parkway.workers.cancellations import Cancellations, is_cancellation
from parkway.workers.committer import Committer
from parkway.workers.consumers import GroupConsumer, ResumeConsumer
from parkway.workers.dispatch import Dispatcher, place
from parkway.workers.effects import Action, Effects, Task
from parkway.workers.entry_store import EntryStoreError
from parkway.workers.governor import Governor
from parkway.workers.held import Lines
from parkway.workers.in_hand import InHand
from parkway.workers.kept import KEPT_SECONDS, KeptIndexes
from parkway.workers.lag import Lag
from parkway.workers.limiter import Limiter, Permit
from parkway.workers.poison import Standing
from parkway.workers.queues import Queues
from parkway.workers.restore import RestoreCancelledError, Restored, Restorer
from parkway.workers.results import ResultBuilder
from parkway.workers.share import NOTHING, Share
from parkway.workers.slots import Slots
from parkway.workers.spans import describe_end, handling
from parkway.workers.times import now_ms
from parkway.workers.upkeep import Upkeep
from parkway.workers.verdict import Judge
from parkway.workers.vitals import Vitals
from parkway.workers.work import Epoch, Held, Lane, Result, Work

T = TypeVar("T")

_FLUSH_SECONDS: Final = 10.0
_OVERDUE_SECONDS: Final = 1.0
_MARGIN: Final = 1_000  # offsets: gaps of control and aborted records lie between the records that are asked for


class Worker:
    """Runs one action. `failed` is set with the exception that must end the process."""

    def __init__(
        self,
        settings: Settings,
        plan: ActionPlan,
        action: Action,
        builder: ResultBuilder,
        codec: EventCodec,
        restorer: Restorer,
        *,
        order: Literal["key", "unordered"],
        concurrency: int,
        slots: Slots,
        governor: Governor,
        limiters: Sequence[Limiter],
        partitions: int,
        largest_span: int,
        admin: AdminClient,
    ) -> None:
        """`limiters` are the action's; they get this worker's share of the topic's `partitions`."""
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._settings = settings
        self._topics = settings.topics
        self._action = action
        self._builder = builder
        cancellations = Cancellations(settings, action.name, builder.build, builder, self._stop_handler)
        self._dispatcher = Dispatcher(settings, plan, action, builder, codec, cancellations)
        self._judge = Judge(self._dispatcher, builder, action.name)
        parks_requests = any(kind != EventType.CancelRequestEvent for kind in plan.resumed_by)
        self._restorer = restorer
        self._concurrency = concurrency
        self._slots = slots
        self._limiters = limiters
        self._partitions = partitions
        self._largest_span = largest_span - _MARGIN
        self._log = get_logger("worker").bind(action=action.name)
        self._assignment: Assignment | None = None
        self._restoring: threading.Event | None = None
        self._restore_task: asyncio.Task[None] | None = None
        self._backlog = Backlog(
            action,
            Queues(by_key=order == "key"),
            Lines(self._pump),
            concurrency=concurrency,
            # Tools wait for nobody: only what may be parked is bounded.
            max_open=settings.max_open if parks_requests else None,
        )
        self._governor = governor
        self._admission = Admission(
            action.name,
            governor,
            self._backlog,
            slots,
            may_start=self._may_start,
            start=self._go_on,
            add=lambda result: self._committer.add(result),  # noqa: PLW0108  (it is not there yet)
            changed=self._after_starts,
        )
        governor.join(self._admission, concurrency)
        self._back_off_timer: asyncio.TimerHandle | None = None
        self._running: dict[Work, asyncio.Task[None]] = {}
        self._in_hand = InHand(settings.buffer_bytes)
        self._carried = Carried()
        self._kept = KeptIndexes(action.name, settings.kept_bytes)
        self._draining = False
        self._threads = ThreadPoolExecutor(3, thread_name_prefix=f"worker-{action.name}")
        self._group_name = self._topics.worker_group(action.name)
        self._lag = Lag(admin, lambda: self._assignment, self._in_thread)
        self.vitals = Vitals(action.name, self._group_name)
        self.vitals.expose(
            lambda: self._assignment,
            running=lambda: len(self._running),
            queued=self._backlog.waiting,
            lag=self._lag.records,
        )
        self._backlog.expose(action.name)

    def connect(self, committer: Committer, group: GroupConsumer, resume: ResumeConsumer | None) -> None:
        """Hand over what needs the worker to be made: it reports back here."""
        self._committer = committer
        self._group = group
        self._resume = resume

    async def run(self) -> None:
        """Sweep deadlines, commit, until cancelled. Raises what is fatal."""
        self._group.start()
        if self._resume is not None:
            self._resume.start()
        upkeep = Upkeep(self._action.name, self._builder, self._committer, lambda: self._assignment)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._committer.run())
            tasks.create_task(upkeep.sweep_for_ever())
            tasks.create_task(upkeep.refresh_for_ever())
            tasks.create_task(self._lag.refresh_for_ever())
            tasks.create_task(self._end_overdue_for_ever())
            tasks.create_task(self._watch_failure())

    async def drain(self, seconds: float) -> None:
        """Take nothing new, give running handlers `seconds`, commit, leave the group."""
        self._draining = True
        self._admission.stop()
        self.vitals.draining()
        self._update_wants()
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)
        self._log.info("drained", cancelled=len(self._running))
        self._group.stop()
        await self._in_thread(self._group.join)
        if self._resume is not None:
            self._resume.stop()
            await self._in_thread(self._resume.join)

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        """On a thread of ours: the event loop's own may all be busy with the user's `asyncio.to_thread`."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    # -- reports of the consumer threads

    def assigned(self, epoch: Epoch, partitions: Sequence[int]) -> None:
        self.vitals.assigned(len(partitions))
        cancelled = self._carried.drop(set(partitions))
        self._log.info("assigned", epoch=epoch.number, partitions=list(partitions), cancelled=cancelled)
        self._own(Share(frozenset(partitions), self._partitions))
        self._restoring = threading.Event()
        self._restore_task = asyncio.create_task(self._restore(epoch, partitions, self._restoring))

    async def revoked(self, *, lost: bool) -> None:
        assignment, self._assignment = self._assignment, None
        self.vitals.revoked()
        if self._restoring is not None:
            self._restoring.set()
        self._carried.carry(self._running)
        self._running.clear()
        self._backlog.clear()
        self._admission.end_epoch()
        self._in_hand.clear()
        if lost:
            self._own(NOTHING)  # after a revoke the share stays until the next assignment: nobody else has it before
        cancelled = self._carried.drop() if lost else 0
        if self._resume is not None:
            await self._resume.end_epoch()
        if not lost:
            self._close(assignment)
            await self._committer.flush(_FLUSH_SECONDS)
        left = await self._committer.end_epoch()
        self._governor.forget(self._admission)
        if self._restore_task is not None:
            await asyncio.wait([self._restore_task])
        if not lost:
            self._carried.carry_results(left)
            self._keep_indexes(assignment)
        else:
            self._kept.clear()
        partitions = len(assignment.partitions) if assignment is not None else 0
        self._log.info("revoked", partitions=partitions, lost=lost, cancelled=cancelled, carried=len(self._carried))

    def _close(self, assignment: Assignment | None) -> None:
        """Whoever comes next shall know that nobody died."""
        for number, partition in assignment.partitions.items() if assignment is not None else ():
            assert assignment is not None
            partition.standing.close()
            self._committer.add(Result(assignment.epoch, number, None))

    def _keep_indexes(self, assignment: Assignment | None) -> None:
        for number, partition in assignment.partitions.items() if assignment is not None else ():
            kept = partition.kept()
            if kept is not None:
                self._kept.keep(number, kept)
        asyncio.get_running_loop().call_later(KEPT_SECONDS + 1, self._kept.expire)

    def taken(self, epoch: Epoch, lane: Lane, records: Sequence[Incoming]) -> None:
        assignment = self._current(epoch)
        if assignment is None:
            return
        for record in records:
            partition = assignment.partitions[record.partition]
            if not partition.completion(lane).take(record.offset, record.timestamp):
                continue
            work = Work(epoch, lane, record)
            self._in_hand.add(work)
            if is_cancellation(work):
                self._cancel(partition, work)
            else:
                self._admission.take(partition, work)
        self._pump()

    def positions(self, epoch: Epoch, lane: Lane, positions: Sequence[tuple[int, int]]) -> None:
        assignment = self._current(epoch)
        if assignment is None:
            return
        for number, position in positions:
            partition = assignment.partitions[number]
            partition.completion(lane).advance(position)
            if partition.moved_without_work():  # so that lag can reach zero
                self._committer.add(Result(epoch, number, None))
            self._admission.moved(assignment, partition)
        self._pump()

    def crashed(self, error: BaseException) -> None:
        """From a consumer thread that died."""
        self.failed.get_loop().call_soon_threadsafe(self._fail, error)

    # -- reports of the committer

    def committed(self, results: Sequence[Result]) -> None:
        """Continuations that waited for an outcome go on."""
        self.vitals.committed(results)
        assignment = self._assignment
        if assignment is not None:
            self._in_hand.completed(completed_offsets(results))
            for result in results:
                partition = assignment.partitions[result.partition]
                request_id = result.upsert[0] if result.upsert is not None else result.ends
                if request_id is not None:
                    waiting = partition.behind_commit.pop(request_id, [])
                    self._backlog.put_first([work for work in waiting if not is_cancellation(work)])
                    for work in filter(is_cancellation, waiting):
                        self._cancel(partition, work)
                if partition.moved_without_work():
                    self._committer.add(Result(assignment.epoch, partition.number, None))
            self._admission.committed(results)
        self._pump()

    def fenced(self) -> None:
        """The group has moved on; `on_lost` is on its way. Until then nothing may be done for this epoch."""
        self._assignment = None
        self._admission.end_epoch()
        self.vitals.revoked()
        self._carried.carry(self._running)
        self._running.clear()
        self._carried.drop()

    # -- dispatch

    def _current(self, epoch: Epoch) -> Assignment | None:
        assignment = self._assignment
        return assignment if assignment is not None and assignment.epoch is epoch else None

    def _own(self, share: Share) -> None:
        for limiter in self._limiters:
            limiter.own(share)

    def _pump(self) -> None:
        """Start what may start, while there are slots."""
        if self._assignment is not None:
            self._admission.pump()

    def _after_starts(self) -> None:
        if self._assignment is not None:
            self._set_back_off_timer()
        self._update_wants()

    def _may_start(self) -> bool:
        running = len(self._running) + self._admission.admitted
        return running < self._concurrency and not self._draining and not self._committer.full

    def _go_on(self, partition: Partition, found: Work | Start) -> None:
        if isinstance(found, Start):
            self._start(partition, found)
        else:
            self._dispatch(partition, found)

    def _decide(self, partition: Partition, work: Work) -> Task | Result | None:
        try:
            return self._judge.decide(partition, work)
        except RegistryUnavailableError:
            raise  # the record is not to blame
        except EntryStoreError as error:
            self._fail(error)  # nor here: another process takes it again
            return None
        except Exception as error:
            self._log.exception("record_not_understood", origin=place(work.record))
            return self._builder.dead(work, DlqReason.INVALID_EVENT, type(error).__name__)

    def _cancel(self, partition: Partition, work: Work) -> None:
        """A cancellation waits for no free handler and behind no key: it may be what frees them."""
        decision = self._decide(partition, work)
        if isinstance(decision, Result):
            self._committer.add(decision)

    def _stop_handler(self, partition: Partition, request_id: str) -> Work | None:
        """Take a request away from its handler, or from the line for one; what the handler gives back is dropped."""
        stopped = (
            self._stop_running(partition, request_id)
            or self._admission.remove(partition.number, request_id)
            or self._backlog.remove(partition.number, request_id)
        )
        if stopped is not None:
            self._backlog.release_key(partition, stopped)
            self.vitals.handled("cancelled", 0.0)
        return stopped

    def _stop_running(self, partition: Partition, request_id: str) -> Work | None:
        for work, running in self._running.items():
            if work.partition == partition.number and work.request_id == request_id:
                del self._running[work]
                running.cancel()
                self._admission.ended(work)
                return work
        return None

    def _dispatch(self, partition: Partition, work: Work) -> None:
        decision = self._decide(partition, work)
        if decision is None:
            self._backlog.release_key(partition, work)  # it is taken again when it is put back
            self._admission.put_back(work)
        elif isinstance(decision, Result):
            self._finish(partition, work, decision)
        elif (start := self._backlog.admit(Held(work, decision))) is not None:
            self._start(partition, start)
        else:
            self._admission.put_back(work)  # it waits for a limiter

    def _start(self, partition: Partition, start: Start) -> None:
        work = start.held.work
        task = self._dispatcher.started(partition, start.held, start.permit)
        self._slots.take()
        self._governor.started()
        running = asyncio.create_task(self._handle(work, task))
        running.add_done_callback(lambda ended: self._on_handler_end(ended, start.permit))
        self._running[work] = running

    def _on_handler_end(self, task: asyncio.Task[None], permit: Permit | None) -> None:
        self._slots.give_back()
        if permit is not None:
            permit.end()
        try:
            self._governor.ended()
        except Exception as failure:  # of a record that could start now
            self._fail(failure)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)  # ours, not the handler's: it must not leave a record in hand for ever

    async def _handle(self, work: Work, task: Task) -> None:
        bind_contextvars(action=self._action.name)  # the user's log lines too; the context is this task's own
        began = time.perf_counter()
        with handling(self._action.name, self._group_name, work, task) as span:
            outcome, result = await self._run(work, task, span)
        if self._running.pop(work, None) is None:
            self._carried.finished(work, result)  # its epoch has ended; the next one may adopt it
            return
        self.vitals.handled(outcome, time.perf_counter() - began)
        assert self._assignment is not None
        self._finish(self._assignment.partitions[work.partition], work, result)
        self._pump()

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
            result = self._failed(work, task, error)
        describe_end(span, outcome, effects, raised)
        return outcome, result

    def _failed(self, work: Work, task: Task, error: BaseException) -> Result:
        """The end of a record whose action raised: no record may take the worker, and so its neighbours, down."""
        # The text of an error may quote what the event contains.
        detail = {"exc_info": error} if self._settings.capture_content else {"error_type": type(error).__name__}
        self._log.error("action_raised", origin=place(work.record), **detail)
        known = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
        try:
            return self._builder.handled(work, task, self._action.failed(task, known))
        except Exception as second:
            self._log.exception("failure_not_written", origin=place(work.record))
            return self._builder.dead(work, DlqReason.ACTION_FAILED, type(second).__name__, task)

    def _finish(self, partition: Partition, work: Work, result: Result) -> None:
        if result.again is not None:
            self._put_off(partition, work, result, result.again)
            return
        self._committer.add(result)
        self._admission.ended(work)
        self._backlog.release_key(partition, work)

    def _put_off(self, partition: Partition, work: Work, result: Result, seconds: float) -> None:
        """A failed attempt: the slot is free, the key is not, and the map says so."""
        assert result.task is not None
        partition.completion(work.lane).failed(work.record.offset, result.task.since // 1000)
        self._committer.add(Result(work.epoch, work.partition, None))
        self._admission.put_back(work)
        self._backlog.put_off(Held(work, result.task), seconds)

    def _set_back_off_timer(self) -> None:
        if self._back_off_timer is not None:
            self._back_off_timer.cancel()
        wait = self._backlog.wait()
        loop = asyncio.get_running_loop()
        self._back_off_timer = loop.call_later(wait, self._pump) if wait is not None else None

    async def _end_overdue_for_ever(self) -> None:
        """What waits for a limit or a back-off beyond its deadline ends about then, not when its turn comes."""
        while True:
            await asyncio.sleep(_OVERDUE_SECONDS)
            assignment = self._assignment
            for held in self._backlog.remove_overdue(now_ms()) if assignment is not None else ():
                assert assignment is not None
                try:
                    result = self._builder.handled(held.work, held.task, self._action.expired(held.task))
                except Exception as error:
                    result = self._failed(held.work, held.task, error)
                self.vitals.handled("expired", 0.0)
                self._finish(assignment.partitions[held.work.partition], held.work, result)

    # -- restore, adoption, back-pressure

    async def _restore(self, epoch: Epoch, partitions: Sequence[int], cancelled: threading.Event) -> None:
        try:
            kept = self._kept.of(partitions)
            restored = await self._in_thread(self._restorer.restore, partitions, kept, cancelled)
        except RestoreCancelledError:
            return
        except Exception as error:
            self._fail(error)
            return
        if cancelled.is_set():
            return
        assignment = Assignment(epoch, {number: self._partition(number, one) for number, one in restored.items()})
        self._assignment = assignment
        self._kept.forget(partitions)
        self._committer.begin_epoch(assignment)
        self._admission.begin_epoch(assignment)
        self._carried.own(epoch)
        try:
            self._adopt(assignment, restored)
        except EntryStoreError as error:
            self._fail(error)
            return
        for number in restored:
            # The maps are unclean and carry this epoch's stamp from now on: nothing starts before that is committed.
            self._committer.add(Result(epoch, number, None))
        for number, one in restored.items():
            for broken in one.broken:
                self._log.error("parked_record_unreadable", partition=number, reason=broken.reason)
                self._committer.add(self._builder.broken(epoch, number, broken))
        self.vitals.taking()
        self._update_wants()
        asyncio.get_running_loop().call_later(CATCH_UP_SECONDS, self._pump)
        self._group.start_taking(
            epoch, [(number, one.completion(Lane.NEW).next) for number, one in assignment.partitions.items()]
        )
        if self._resume is not None:
            self._resume.start_taking(
                epoch,
                [(number, one.completion(Lane.RESUME).next) for number, one in assignment.partitions.items()],
            )

    def _partition(self, number: int, restored: Restored) -> Partition:
        begins = {lane: completion.next for lane, completion in restored.lanes.items()}
        ends = {lane: min(restored.ends[lane], begin + self._largest_span + _MARGIN) for lane, begin in begins.items()}
        own = any(self._carried.owns(stamp) for stamp in restored.stamps.values())
        standing = Standing.restored(restored.marks, begins, ends, own=own)
        return Partition(number, restored, self._action.name, self._topics, standing)

    def _adopt(self, assignment: Assignment, restored: dict[int, Restored]) -> None:
        carried = len(self._carried)
        for adopted in self._carried.adopt(assignment, restored):
            partition = assignment.partitions[adopted.work.partition]
            self._backlog.take_key(partition, adopted.work)
            partition.standing.to_start(adopted.work.lane, adopted.work.record.offset)
            self._in_hand.add(adopted.work)
            if adopted.task is not None:
                self._running[adopted.work] = adopted.task
            elif adopted.result is not None:
                self._finish(partition, adopted.work, adopted.result)
            carried -= 1
        if carried:
            self._log.info("not_adopted", handlers=carried)

    def _update_wants(self) -> None:
        self._group.want(self._room(Lane.NEW))
        if self._resume is not None:
            self._resume.want(self._room(Lane.RESUME))

    def _room(self, lane: Lane) -> int:
        """How many more records of a lane may be taken now."""
        assignment = self._assignment
        if assignment is None or self._draining or self._in_hand.full(lane):
            return 0
        behind = assignment.behind_commit() if lane is Lane.RESUME else 0
        room = self._backlog.room(lane) - behind
        if lane is Lane.NEW and self._governor.is_limited and assignment.awaits_suspects():
            room = self._backlog.room_for_suspects()
        return min(assignment.room(lane, self._largest_span), room)

    async def _watch_failure(self) -> None:
        await self.failed

    def _fail(self, error: BaseException) -> None:
        if not self.failed.done():
            self.failed.set_exception(error)


def _outcome(effects: Effects) -> str:
    if effects.failure is not None:
        return "failed"
    if effects.again is not None:
        return "again"
    return "parked" if effects.park is not None else "done"
