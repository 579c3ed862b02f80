"""The way of a record through a worker: taken, decided, run where there is something to run, finished (DESIGN 7.1).

A record that waits for its start is in the backlog, one that runs is with the handlers, and the result of one that is
finished is with the committer, which says so when it is committed.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Literal

from parkway.agents.retry import Retry
from parkway.runtime.codec import EventCodec
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming
from parkway.runtime.settings import Settings
from parkway.schemas.avro.codec import RegistryUnavailableError
from parkway.schemas.errors import DlqReason
from parkway.schemas.plan import ActionPlan
from parkway.workers.admission import Admission
from parkway.workers.adoption import Adopted, Carried
from parkway.workers.assignment import Assignment, Partition, completed_offsets
from parkway.workers.backlog import Backlog, Start
from parkway.workers.cancellations import Cancellations, is_cancellation
from parkway.workers.committer import Committer
from parkway.workers.dispatch import Dispatcher, place
from parkway.workers.effects import Action, Task
from parkway.workers.entry_store import EntryStoreError
from parkway.workers.governor import Governor
from parkway.workers.handlers import Handlers
from parkway.workers.held import Lines
from parkway.workers.held_up import HeldUp
from parkway.workers.in_hand import InHand
from parkway.workers.indexing import Indexing
from parkway.workers.queues import Queues
from parkway.workers.results import ResultBuilder
from parkway.workers.slots import Slots
from parkway.workers.steps import Steps
from parkway.workers.times import now, now_ms
from parkway.workers.verdict import Judge
from parkway.workers.vitals import Vitals
from parkway.workers.work import Held, Lane, Result, Work

_OVERDUE_SECONDS: Final = 1.0


class Flow:
    """Moves the records of one action. Used on the event loop only.

    The assignment in force is the worker's (`current`); what is given here is of its epoch. State here: whether a pump
    is due in this iteration of the loop, and the timer of the next back-off. `crashed` gets what must end the process.
    """

    def __init__(
        self,
        settings: Settings,
        plan: ActionPlan,
        action: Action,
        builder: ResultBuilder,
        codec: EventCodec,
        *,
        order: Literal["key", "unordered"],
        concurrency: int,
        retry: Retry,
        slots: Slots,
        governor: Governor,
        carried: Carried,
        in_hand: InHand,
        held_up: HeldUp,
        vitals: Vitals,
        current: Callable[[], Assignment | None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        self._action = action
        self._builder = builder
        self._concurrency = concurrency
        self._retry = retry
        self._in_hand = in_hand
        self._vitals = vitals
        self._current = current
        self._crashed = crashed
        self._log = get_logger("worker").bind(action=action.name)
        cancellations = Cancellations(settings, action.name, builder.build, builder, self._stop_handler)
        self._dispatcher = Dispatcher(settings, plan, action, builder, codec, cancellations)
        self._keeps_state = plan.keeps_state
        self.steps = Steps(
            action.name,
            builder,
            settings.max_parked_bytes,
            current,
            lambda result: self._committer.add(result),  # noqa: PLW0108  (it is not there yet)
        )
        self._keeps_steps = plan.keeps_steps
        self._judge = Judge(self._dispatcher, builder, action.name)
        self.indexing = Indexing(
            action.name,
            builder,
            add=lambda result: self._committer.add(result),  # noqa: PLW0108  (it is not there yet)
            go_on=self._take_again,
            crashed=crashed,
        )
        self.backlog = Backlog(
            action,
            Queues(held_up, by_key=order == "key"),
            Lines(self.pump_soon),
            held_up,
            concurrency=concurrency,
            # Tools wait for nobody: only what may be parked is bounded.
            max_open=settings.max_open if plan.parks_requests else None,
            max_awaiting=settings.max_awaiting if plan.parks_requests else None,
        )
        self.admission = Admission(
            action.name,
            governor,
            self.backlog,
            slots,
            may_start=self._may_start,
            start=self._go_on,
            add=lambda result: self._committer.add(result),  # noqa: PLW0108  (it is not there yet)
            changed=self._after_starts,
        )
        governor.join(self.admission, concurrency)
        self.handlers = Handlers(
            action,
            settings.topics.worker_group(action.name),
            builder,
            slots,
            governor,
            carried,
            vitals,
            capture_content=settings.capture_content,
            finished=self._finished,
            crashed=crashed,
        )
        self._pump_due = False
        self._back_off_timer: asyncio.TimerHandle | None = None

    def connect(self, committer: Committer, update_wants: Callable[[], None]) -> None:
        """Hand over what needs this to be made."""
        self._committer = committer
        self._update_wants = update_wants

    @property
    def is_quiet(self) -> bool:
        """Does nothing run, nor wait for its time (a back-off, a limiter)?"""
        return not len(self.handlers) and not self._pump_due and self.backlog.is_quiet

    # -- what consumers, the committer and a new epoch bring

    def take(self, assignment: Assignment, lane: Lane, records: Sequence[Incoming]) -> None:
        """Records were taken."""
        for record in records:
            partition = assignment.partitions[record.partition]
            if not partition.completion(lane).take(record.offset, record.timestamp):
                continue
            work = Work(assignment.epoch, lane, record)
            self._in_hand.add(work)
            if is_cancellation(work):
                self._cancel(partition, work)
            else:
                self.admission.take(partition, work)
        self.pump_soon()

    def advance(self, assignment: Assignment, lane: Lane, positions: Sequence[tuple[int, int]]) -> None:
        """A consumer has passed what is no record, up to these (partition, position) pairs."""
        for number, position in positions:
            partition = assignment.partitions[number]
            partition.completion(lane).advance(position)
            if partition.moved_without_work():  # so that lag can reach zero
                self._committer.add(Result(assignment.epoch, number, None))
            self.admission.moved(assignment, partition)
        self.pump_soon()

    def committed(self, assignment: Assignment, results: Sequence[Result]) -> None:
        """Continuations that waited for an outcome go on."""
        self._in_hand.completed(completed_offsets(results))
        for result in results:
            partition = assignment.partitions[result.partition]
            if self._keeps_state and result.work is not None:
                self.backlog.release_key(partition, result.work)
            request_id = result.upsert[0] if result.upsert is not None else result.ends
            if request_id is not None:
                self._take_again(partition, partition.behind_commit.pop(request_id, []))
        for number in {result.partition for result in results}:
            if assignment.partitions[number].moved_without_work():
                self._committer.add(Result(assignment.epoch, number, None))
        self.admission.committed(results)
        self.pump_soon()

    def adopt(self, assignment: Assignment, adopted: Adopted) -> None:
        """A work of an ended epoch goes on in this one: its handler, or its result."""
        work = adopted.work
        partition = assignment.partitions[work.partition]
        self.backlog.take_key(partition, work)
        partition.standing.to_start(work.lane, work.record.offset)
        self._in_hand.add(work)
        if adopted.task is not None:
            self.handlers.adopt(work, adopted.task)
            self.steps.adopted(work)
        elif adopted.result is not None:
            self._finish(partition, work, adopted.result)

    def end_epoch(self) -> None:
        """What waits will be taken again; what runs, runs on."""
        self.handlers.end_epoch()
        self.indexing.end_epoch()
        self.backlog.clear()
        self.admission.end_epoch()
        self._in_hand.clear()

    async def end_overdue_for_ever(self) -> None:
        """What waits for a limit or a back-off beyond its deadline ends about then, not when its turn comes."""
        while True:
            await asyncio.sleep(_OVERDUE_SECONDS)
            assignment = self._current()
            for held in self.backlog.remove_overdue(now_ms()) if assignment is not None else ():
                assert assignment is not None
                try:
                    result = self._builder.handled(held.work, held.task, self._action.expired(held.task))
                except Exception as error:
                    result = self.handlers.raised(held.work, held.task, error)
                self._vitals.handled("expired", 0.0)
                self._finish(assignment.partitions[held.work.partition], held.work, result)

    def _take_again(self, partition: Partition, waiting: Sequence[Work]) -> None:
        """What they waited for is there. New work may have waited too: what is not indexed counts as open."""
        self.backlog.put_first([work for work in waiting if not is_cancellation(work)])
        for work in filter(is_cancellation, waiting):
            self._cancel(partition, work)
        self.pump_soon()

    # -- starts

    def pump_soon(self) -> None:
        """Start what may start: once in an iteration of the loop, however many records have ended in it."""
        if not self._pump_due:
            self._pump_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_due = False
        if self._current() is None:
            return
        try:
            self.admission.pump()
        except Exception as failure:  # a callback of the loop: nobody else would hear of it
            self._log.exception("worker_raised")
            self._crashed(failure)

    def _after_starts(self) -> None:
        if self._current() is not None:
            self._set_back_off_timer()
        self._update_wants()

    def _set_back_off_timer(self) -> None:
        if self._back_off_timer is not None:
            self._back_off_timer.cancel()
        wait = self.backlog.wait()
        loop = asyncio.get_running_loop()
        self._back_off_timer = loop.call_later(wait, self.pump_soon) if wait is not None else None

    def _may_start(self) -> bool:
        return len(self.handlers) + self.admission.admitted < self._concurrency and not self._committer.full

    def _go_on(self, partition: Partition, found: Work | Start) -> None:
        if isinstance(found, Start):
            self._start(partition, found)
        else:
            self._dispatch(partition, found)

    def _dispatch(self, partition: Partition, work: Work) -> None:
        decision = self._decide(partition, work)
        if decision is None:
            self.backlog.release_key(partition, work)  # it is taken again when it is put back
            self.admission.put_back(work)
        elif isinstance(decision, Result):
            self._finish(partition, work, decision)
        elif (seconds := self._left_of_back_off(partition, work)) > 0:
            self.admission.put_back(work)
            self.backlog.put_off(Held(work, decision), seconds)
        elif (start := self.backlog.admit(Held(work, decision))) is not None:
            self._start(partition, start)
        else:
            self.admission.put_back(work)  # it waits for a limiter

    def _left_of_back_off(self, partition: Partition, work: Work) -> float:
        """Seconds: an owner before this one has tried it, or this process before a rebalance."""
        tried = partition.completion(work.lane).tried(work.record.offset)
        return self._retry.left(tried.attempts, now() - tried.since) if tried is not None else 0.0

    def _decide(self, partition: Partition, work: Work) -> Task | Result | None:
        decision = self._judged(partition, work)
        if not partition.parked.is_indexed:
            self.indexing.looked(work.epoch, partition)
        return decision

    def _judged(self, partition: Partition, work: Work) -> Task | Result | None:
        try:
            return self._judge.decide(partition, work)
        except RegistryUnavailableError:
            raise  # the record is not to blame
        except EntryStoreError as error:
            self._crashed(error)  # nor here: another process takes it again
            return None
        except Exception as error:
            self._log.exception("record_not_understood", origin=place(work.record))
            return self._builder.dead(work, DlqReason.INVALID_EVENT, type(error).__name__)

    def _start(self, partition: Partition, start: Start) -> None:
        steps = self.steps.log(partition, start.work) if self._keeps_steps else None
        task = self._dispatcher.started(partition, start.held, start.permit, steps)
        self.handlers.start(start.work, task, start.permit)

    # -- ends

    def _finished(self, work: Work, result: Result) -> None:
        assignment = self._current()
        assert assignment is not None, "without an assignment nothing runs here"
        self._finish(assignment.partitions[work.partition], work, result)
        self.pump_soon()

    def _finish(self, partition: Partition, work: Work, result: Result) -> None:
        if result.again is not None:
            self._put_off(partition, work, result, result.again)
            return
        if self._keeps_steps:
            result.drops = self.steps.tombstones(partition, work)
        self._committer.add(result)
        self.admission.ended(work)
        if not self._keeps_state:  # else the key's next record waits until this one's state is committed
            self.backlog.release_key(partition, work)

    def _put_off(self, partition: Partition, work: Work, result: Result, seconds: float) -> None:
        """A failed attempt: the slot is free, the key is not, and the map says so."""
        assert result.task is not None
        partition.completion(work.lane).failed(work.record.offset, result.task.since // 1000)
        self._committer.add(Result(work.epoch, work.partition, None))
        self.admission.put_back(work)
        self.backlog.put_off(Held(work, self._dispatcher.again(work, result.task)), seconds)

    def _cancel(self, partition: Partition, work: Work) -> None:
        """A cancellation waits for no free handler and behind no key: it may be what frees them."""
        decision = self._decide(partition, work)
        if isinstance(decision, Result):
            self._committer.add(decision)

    def _stop_handler(self, partition: Partition, request_id: str) -> Work | None:
        """Take a request away from its handler, or from the line for one; what the handler gives back is dropped."""
        stopped = self.handlers.stop(partition.number, request_id)
        if stopped is not None:
            self.admission.ended(stopped)
        else:
            stopped = self.admission.remove(partition.number, request_id) or self.backlog.remove(
                partition.number, request_id
            )
        if stopped is not None:
            self.backlog.release_key(partition, stopped)
            self._vitals.handled("cancelled", 0.0)
        return stopped
