"""The worker of one action: its consumers, its committer, and what begins and ends with an epoch (DESIGN 7.1).

Everything here runs on the event loop; consumer threads and the producer's thread post to it. Life of an epoch:
`assigned` -> restore (on a thread) -> both topics are started -> `taken` ... -> `revoked`, which returns only
when nothing of the epoch is in a transaction any more. What becomes of a record in between stands in flow.py.

A revoke commits what is finished and cancels nothing: handlers run on, and the next assignment adopts those whose
partition comes back (adoption.py).
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Final, Literal, TypeVar

from confluent_kafka.admin import AdminClient

from parkway.agents.retry import Retry
from parkway.runtime.codec import EventCodec
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Incoming
from parkway.runtime.settings import Settings
from parkway.schemas.plan import ActionPlan
from parkway.workers.adoption import Carried
from parkway.workers.assignment import CATCH_UP_SECONDS, Assignment, Partition
from parkway.workers.committer import Committer
from parkway.workers.compacted import RestoreCancelledError
from parkway.workers.effects import Action
from parkway.workers.entry_store import EntryStoreError
from parkway.workers.flow import Flow
from parkway.workers.governor import Governor
from parkway.workers.held_up import HeldUp
from parkway.workers.in_hand import InHand
from parkway.workers.kept import KEPT_SECONDS, KeptIndexes
from parkway.workers.lag import Lag
from parkway.workers.limiter import Limiter
from parkway.workers.poison import Standing
from parkway.workers.restore import Restorer
from parkway.workers.restored import Restored
from parkway.workers.results import ResultBuilder
from parkway.workers.share import NOTHING, Share
from parkway.workers.slots import Slots
from parkway.workers.takers import ResumeTaker, Taker
from parkway.workers.upkeep import Upkeep
from parkway.workers.vitals import Vitals
from parkway.workers.wants import Wants
from parkway.workers.work import Epoch, Lane, Result

T = TypeVar("T")

_FLUSH_SECONDS: Final = 10.0
_MARGIN: Final = 1_000  # offsets: gaps of control and aborted records lie between the records that are asked for


class Worker:
    """Runs one action. `failed` is set with the exception that must end the process.

    The epoch's state is here: the assignment in force (None between epochs: nothing is taken, started or committed),
    the restore that is under way, and what is left of ended epochs (`Carried`, `KeptIndexes`). A `consumers.Listener`.
    """

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
        retry: Retry,
        slots: Slots,
        governor: Governor,
        limiters: Sequence[Limiter],
        partitions: int,
        largest_span: int,
        admin: AdminClient,
        threads: Executor | None = None,
    ) -> None:
        """`limiters` are the action's; they get this worker's share of the topic's `partitions`.

        On `threads` runs what waits for a broker; None: on some of its own.
        """
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._topics = settings.topics
        self._action = action
        self._builder = builder
        self._restorer = restorer
        self._governor = governor
        self._limiters = limiters
        self._partitions = partitions
        self._largest_span = largest_span - _MARGIN
        self._log = get_logger("worker").bind(action=action.name)
        self._assignment: Assignment | None = None
        self._restoring: threading.Event | None = None
        self._restore_task: asyncio.Task[None] | None = None
        self._in_hand = InHand(settings.buffer_bytes)
        self._held_up = HeldUp(settings.buffer_bytes)
        self._carried = Carried()
        self._kept = KeptIndexes(action.name, settings.kept_bytes)
        self._threads = threads or ThreadPoolExecutor(3, thread_name_prefix=f"worker-{action.name}")
        self._lag = Lag(admin, self._current, self._in_thread)
        self.vitals = Vitals(action.name, self._topics.worker_group(action.name))
        self._flow = Flow(
            settings,
            plan,
            action,
            builder,
            codec,
            order=order,
            concurrency=concurrency,
            retry=retry,
            slots=slots,
            governor=governor,
            carried=self._carried,
            in_hand=self._in_hand,
            held_up=self._held_up,
            vitals=self.vitals,
            current=self._current,
            crashed=self._fail,
        )
        self.vitals.expose(
            self._current,
            running=lambda: len(self._flow.handlers),
            queued=self._flow.backlog.waiting,
            lag=self._lag.records,
        )
        self._flow.backlog.expose(action.name)

    def connect(self, committer: Committer, group: Taker, resume: ResumeTaker | None) -> None:
        """Hand over what needs the worker to be made: it reports back here."""
        self._committer = committer
        self._group = group
        self._resume = resume
        self._wants = Wants(
            self.name,
            group,
            resume,
            self._flow.backlog,
            self._in_hand,
            self._held_up,
            self._governor,
            current=self._current,
            largest_span=self._largest_span,
        )
        self._flow.connect(committer, self._wants.update)

    async def run(self) -> None:
        """Sweep deadlines, commit, until cancelled. Raises what is fatal."""
        self._group.start()
        if self._resume is not None:
            self._resume.start()
        upkeep = Upkeep(self._action.name, self._builder, self._committer, self._current)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._committer.run())
            tasks.create_task(upkeep.sweep_for_ever())
            tasks.create_task(upkeep.refresh_for_ever())
            tasks.create_task(self._lag.refresh_for_ever())
            tasks.create_task(self._flow.end_overdue_for_ever())
            tasks.create_task(self._watch_failure())

    @property
    def is_quiet(self) -> bool:
        """Is everything started, and does nothing run, wait for its time, or wait for its transaction?

        What waits for something else, such as a parked request for an answer, is quiet.
        """
        return self._assignment is not None and self._flow.is_quiet and self._committer.is_quiet

    @property
    def name(self) -> str:
        """The action's."""
        return self._action.name

    @property
    def runs(self) -> bool:
        """Does a handler run?"""
        return len(self._flow.handlers) > 0

    def next_attempt(self) -> float | None:
        """Seconds until a record that failed is tried again; None when none waits for that."""
        return self._flow.backlog.wait()

    def in_flight(self) -> str:
        """What is not quiet, for people; nothing when all is."""
        if self.is_quiet:
            return ""
        running = [f"{work.event.get('type')} {work.event.get('id')!r} runs" for work in self._flow.handlers.running()]
        waiting = [] if self._flow.backlog.is_quiet else ["a record waits for its next attempt, or for a limit"]
        return f"action {self._action.name!r}: {', '.join([*running, *waiting]) or 'it starts, or commits'}"

    def behind(self, ends: Mapping[tuple[str, int], int]) -> int | None:
        """Records up to these ends of its topics that are not completed; None between two assignments."""
        assignment = self._assignment
        return sum(one.behind(ends) for one in assignment.partitions.values()) if assignment is not None else None

    async def drain(self, seconds: float) -> None:
        """Take nothing new, give running handlers `seconds`, commit, leave the group."""
        self._flow.admission.stop()
        self.vitals.draining()
        self._wants.stop()
        await self._flow.handlers.wait(seconds)
        self._log.info("drained", cancelled=len(self._flow.handlers))
        self._group.stop()
        await self._in_thread(self._group.join)
        if self._resume is not None:
            self._resume.stop()
            await self._in_thread(self._resume.join)

    def _current(self) -> Assignment | None:
        return self._assignment

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
        self._flow.end_epoch()
        if lost:
            self._own(NOTHING)  # after a revoke the share stays until the next assignment: nobody else has it before
        cancelled = self._carried.drop() if lost else 0
        if self._resume is not None:
            await self._resume.end_epoch()
        if not lost:
            if assignment is not None:
                self._close(assignment)
            await self._committer.flush(_FLUSH_SECONDS)
        left = await self._committer.end_epoch()
        self._governor.forget(self._flow.admission)
        if self._restore_task is not None:
            await asyncio.wait([self._restore_task])
        if not lost:
            self._carried.carry_results(left)
            if assignment is not None:
                self._keep_indexes(assignment)
        else:
            self._kept.clear()
        partitions = len(assignment.partitions) if assignment is not None else 0
        self._log.info("revoked", partitions=partitions, lost=lost, cancelled=cancelled, carried=len(self._carried))

    def _close(self, assignment: Assignment) -> None:
        """Whoever comes next shall know that nobody died."""
        for number, partition in assignment.partitions.items():
            partition.standing.close()
            self._committer.add(Result(assignment.epoch, number, None))

    def _keep_indexes(self, assignment: Assignment) -> None:
        for number, partition in assignment.partitions.items():
            kept = partition.kept()
            if kept is not None:
                self._kept.keep(number, kept)
        asyncio.get_running_loop().call_later(KEPT_SECONDS + 1, self._kept.expire)

    def taken(self, epoch: Epoch, lane: Lane, records: Sequence[Incoming]) -> None:
        assignment = self._assignment_of(epoch)
        if assignment is not None:
            self._flow.take(assignment, lane, records)

    def positions(self, epoch: Epoch, lane: Lane, positions: Sequence[tuple[int, int]]) -> None:
        assignment = self._assignment_of(epoch)
        if assignment is not None:
            self._flow.advance(assignment, lane, positions)

    def crashed(self, error: BaseException) -> None:
        """From a consumer thread that died."""
        self.failed.get_loop().call_soon_threadsafe(self._fail, error)

    def _assignment_of(self, epoch: Epoch) -> Assignment | None:
        assignment = self._assignment
        return assignment if assignment is not None and assignment.epoch is epoch else None

    # -- reports of the committer

    def committed(self, results: Sequence[Result]) -> None:
        """Results are committed, in the epoch in force or in one that is ending."""
        self.vitals.committed(results)
        if self._assignment is not None:
            self._flow.committed(self._assignment, results)

    def fenced(self) -> None:
        """The group has moved on; `on_lost` is on its way. Until then nothing may be done for this epoch."""
        self._assignment = None
        self._flow.admission.end_epoch()
        self._flow.indexing.end_epoch()
        self.vitals.revoked()
        self._flow.handlers.end_epoch()
        self._carried.drop()

    def _own(self, share: Share) -> None:
        for limiter in self._limiters:
            limiter.own(share)

    # -- restore, adoption

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
        self._flow.admission.begin_epoch(assignment)
        self._carried.own(epoch)
        try:
            self._adopt(assignment, restored)
        except EntryStoreError as error:
            self._fail(error)
            return
        for number in restored:
            # The maps are unclean and carry this epoch's stamp from now on: nothing starts before that is committed.
            self._committer.add(Result(epoch, number, None))
        self._flow.steps.remove_orphans(assignment)
        self._flow.indexing.begin_epoch(assignment, {number: one.broken for number, one in restored.items()})
        self.vitals.taking()
        self._wants.update()
        asyncio.get_running_loop().call_later(CATCH_UP_SECONDS, self._flow.pump_soon)
        for consumer in (self._group, self._resume):
            if consumer is not None:
                begins = [(number, one.completion(consumer.lane).next) for number, one in assignment.partitions.items()]
                consumer.start_taking(epoch, begins)

    def _partition(self, number: int, restored: Restored) -> Partition:
        begins = {lane: completion.next for lane, completion in restored.lanes.items()}
        ends = {lane: min(restored.ends[lane], begin + self._largest_span + _MARGIN) for lane, begin in begins.items()}
        own = any(self._carried.owns(stamp) for stamp in restored.stamps.values())
        standing = Standing.restored(restored.marks, begins, ends, own=own)
        return Partition(number, restored, self._action.name, self._topics, standing)

    def _adopt(self, assignment: Assignment, restored: dict[int, Restored]) -> None:
        carried = len(self._carried)
        for adopted in self._carried.adopt(assignment, restored):
            self._flow.adopt(assignment, adopted)
            carried -= 1
        if carried:
            self._log.info("not_adopted", handlers=carried)

    async def _watch_failure(self) -> None:
        await self.failed

    def _fail(self, error: BaseException) -> None:
        if not self.failed.done():
            self.failed.set_exception(error)
