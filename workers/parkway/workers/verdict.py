"""A convicted record is not run again: it ends in its failed response, or in the DLQ (DESIGN 7.1)."""

from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.schemas.errors import DlqReason
from parkway.workers.assignment import Partition
from parkway.workers.dispatch import Dispatcher, place
from parkway.workers.effects import Task
from parkway.workers.poison import Conviction
from parkway.workers.results import ResultBuilder
from parkway.workers.work import Result, Work


class Judge:
    """Stands before the dispatcher, which decides about every other record. Used on the event loop only."""

    def __init__(self, dispatcher: Dispatcher, builder: ResultBuilder, action: str) -> None:
        self._dispatcher = dispatcher
        self._builder = builder
        self._action = action
        self._log = get_logger("worker").bind(action=action)

    def decide(self, partition: Partition, work: Work) -> Task | Result | None:
        """As `Dispatcher.decide`; never a task for a convicted record."""
        conviction = partition.standing.conviction(work.lane, work.record.offset)
        if conviction is None:
            return self._dispatcher.decide(partition, work)
        decision = self._end(partition, work, conviction)
        if decision is not None:
            metrics.CONVICTED.labels(self._action).inc()
            self._log.error("record_convicted", origin=place(work.record), deaths=conviction.deaths)
        return decision

    def _end(self, partition: Partition, work: Work, conviction: Conviction) -> Result | None:
        if not conviction.readable:
            return self._builder.dead(work, DlqReason.POISON, str(conviction), attempts=conviction.deaths)
        decision = self._dispatcher.decide(partition, work)
        return self._builder.convicted(work, decision, conviction) if isinstance(decision, Task) else decision
