"""When a record may start: a handler is free, its partition's map says so, and the process has room (DESIGN 7.1).

The first transaction of an epoch marks its partitions `unclean`; nothing starts before it has committed. While
something in the process is suspected, each start is written into the map first. Used on the event loop only.
"""

from collections.abc import Callable, Sequence

from parkway.runtime.logs import get_logger
from parkway.workers.assignment import Assignment, Partition
from parkway.workers.backlog import Backlog, Start
from parkway.workers.governor import Governor
from parkway.workers.slots import Slots
from parkway.workers.work import Result, Work


class Admission:
    """Lets the works of one action start, while `may_start` says so and there are slots. A `governor.Member`.

    `start` dispatches a work, or starts one that was dispatched before. `add` gives the committer a result: an empty
    one has the map of its partition committed. `changed` runs when works may have left the backlog.
    """

    def __init__(
        self,
        action: str,
        governor: Governor,
        backlog: Backlog,
        slots: Slots,
        *,
        may_start: Callable[[], bool],
        start: Callable[[Partition, Work | Start], None],
        add: Callable[[Result], None],
        changed: Callable[[], None],
    ) -> None:
        self._log = get_logger("worker").bind(action=action)
        self._governor = governor
        self._backlog = backlog
        self._slots = slots
        self._may_start = may_start
        self._start = start
        self._add = add
        self._changed = changed
        self._assignment: Assignment | None = None
        self._cautious = False
        self._stopped = False
        self._admitted: list[Work | Start] = []  # to start when their map is committed

    # -- epochs

    def begin_epoch(self, assignment: Assignment) -> None:
        """Nothing of it has started, nothing of it is committed."""
        self._assignment = assignment
        died = [partition for partition in assignment.partitions.values() if partition.standing.died]
        if died:
            self._log.warning(
                "owner_died",
                partitions=[partition.number for partition in died],
                suspects=sum(partition.suspects() for partition in died),
                deaths=assignment.deaths(),
            )
        for partition in assignment.partitions.values():
            partition.settle()  # where there is no suspect, nobody is suspected
            partition.be_cautious(cautious=self._cautious)
        self._governor.report(self, assignment.deaths())

    def end_epoch(self) -> None:
        """What was to start will be taken again."""
        self._assignment = None
        self._drop_admitted()

    def stop(self) -> None:
        """Start nothing any more."""
        self._stopped = True
        self._drop_admitted()

    # -- what has changed

    def take(self, partition: Partition, work: Work) -> None:
        """A record was taken: it waits for its start."""
        work.urgency = partition.standing.urgency(work.lane, work.record.offset)
        self._backlog.put(work)

    def pump(self) -> None:
        """Start what may start now."""
        self._start_admitted()
        if self._governor.is_limited:
            self._governor.pump()
            self._changed()
        else:
            self.start_all()

    def committed(self, results: Sequence[Result]) -> None:
        """Maps are committed: what they let start, starts; what was alone is so no more."""
        assignment = self._assignment
        if assignment is None:
            return
        self._start_admitted()
        alone = self._governor.alone_of(self)
        if alone is not None and not assignment.partitions[alone.partition].standing.says_alone:
            self._governor.release()
        for number in {result.partition for result in results}:
            self.moved(assignment, assignment.partitions[number])

    def moved(self, assignment: Assignment, partition: Partition) -> None:
        """A watermark has moved: the last suspect may be done."""
        if partition.settle():
            self._commit_map(partition)
            self._governor.report(self, assignment.deaths())

    def ended(self, work: Work) -> None:
        """This work runs no more."""
        if self._assignment is not None:
            self._partition(work).standing.finished(work.lane, work.record.offset)

    def put_back(self, work: Work) -> None:
        """This work has not started after all: it waits for something."""
        if self._governor.alone_of(self) is work:
            partition = self._partition(work)
            partition.standing.put_back()
            self._commit_map(partition)

    def remove(self, partition: int, request_id: str) -> Work | None:
        """Take out the work that holds the claim of this request, if it is to start: it was cancelled."""
        for found in self._admitted:
            work = _work(found)
            if isinstance(found, Start) and work.partition == partition and work.request_id == request_id:
                self._admitted.remove(found)
                found.drop()
                self.ended(work)
                return work
        return None

    # -- governor.Member

    @property
    def admitted(self) -> int:
        return len(self._admitted)

    def most_urgent(self) -> int | None:
        if self._assignment is None or not self._is_free():
            return None
        return self._backlog.most_urgent(self._assignment)

    def start_next(self) -> bool:
        found = self._next()
        if found is None:
            return False
        self._start_or_wait(found, alone=self._governor.isolate(self, _work(found)))
        self._changed()
        return True

    def start_all(self) -> None:
        while self._is_free():
            found = self._next()
            if found is None:
                self._slots.pass_on()
                break
            self._start_or_wait(found, alone=False)
        self._changed()

    def be_cautious(self, *, cautious: bool) -> None:
        if cautious == self._cautious:
            return
        self._cautious = cautious
        if self._assignment is not None:
            for partition in self._assignment.partitions.values():
                partition.be_cautious(cautious=cautious)

    def _is_free(self) -> bool:
        ready = self._assignment is not None and not self._stopped and self._may_start()
        return ready and self._slots.available(self.pump)

    def _next(self) -> Work | Start | None:
        assert self._assignment is not None
        return self._backlog.next(self._assignment)

    def _start_admitted(self) -> None:
        if self._admitted and self._assignment is not None:
            admitted, self._admitted = self._admitted, []
            alone = self._governor.alone_of(self)
            for found in admitted:
                self._start_or_wait(found, alone=_work(found) is alone)

    def _start_or_wait(self, found: Work | Start, *, alone: bool) -> None:
        work = _work(found)
        partition = self._partition(work)
        if not partition.standing.may_start(work.lane, work.record.offset, alone=alone):
            self._admitted.append(found)
            if partition.standing.to_start(work.lane, work.record.offset, alone=alone):
                self._commit_map(partition)
        elif self._slots.available(self.pump):
            self._start(partition, found)
        else:
            self._admitted.append(found)

    def _drop_admitted(self) -> None:
        admitted, self._admitted = self._admitted, []
        for found in admitted:
            if isinstance(found, Start):
                found.drop()

    def _partition(self, work: Work) -> Partition:
        assert self._assignment is not None
        return self._assignment.partitions[work.partition]

    def _commit_map(self, partition: Partition) -> None:
        assert self._assignment is not None
        self._add(Result(self._assignment.epoch, partition.number, None))


def _work(found: Work | Start) -> Work:
    return found.work if isinstance(found, Start) else found
