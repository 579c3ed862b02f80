"""A transactional producer that outlives its fatal errors (DESIGN 6.1: unknown outcome, fatal).

A process that exits cancels all its running calls, so a dead producer is made anew in the process. The outcome of
the transaction that it died in is not known to the client, and nothing begins before it is: `init_transactions` of
the new producer ends that transaction one way or the other, and then the broker's stable committed offsets either
are what that transaction sent, metadata included, or they are not. So the metadata of every transaction must be
one of a kind: a stamp, random per assignment, and a number that grows with every transaction.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from confluent_kafka import TopicPartition

from parkway.runtime import metrics
from parkway.runtime.group_offsets import GroupOffsets
from parkway.runtime.instance import InstanceError
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Record
from parkway.runtime.settings import Settings
from parkway.runtime.transaction_errors import AbortedError, FatalTransactionError, GroupFencedError
from parkway.runtime.transactions import TransactionalProducer

_ENOUGH: Final = 5  # fatal errors without a commit in between: another process may fare better
_LONGEST_WAIT: Final = 5.0
_ASK: Final = 2.0
_ASK_AGAIN: Final = 0.1


class Commits(Protocol):
    """A producer whose transactions end in an outcome: `RecoveringProducer`, or a test's log in memory."""

    @property
    def delivered(self) -> Mapping[tuple[str, int], int]:
        """(topic, partition) -> the highest offset that the newest transaction was acknowledged at."""
        ...

    def open(self) -> None: ...

    def commit(self, records: Sequence[Record], offsets: Sequence[TopicPartition], group_metadata: Any) -> None:
        """Records and offsets together. Raises as `RecoveringProducer.commit`."""
        ...


class FatalErrors:
    """Decides whether a fatal error of a producer ends the process: counts them, and how closely fences follow.

    A broker fences its own producer when a transaction outlives `transaction_timeout` (the broker was away). It
    cannot do that twice within that time, since the second transaction has to get as old: then it was another
    process of this instance.
    """

    def __init__(self, instance: str, transaction_timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._instance = instance
        self._transaction_timeout = transaction_timeout
        self._clock = clock
        self._count = 0
        self._fenced_at: float | None = None

    def add(self, failure: FatalTransactionError) -> float:
        """Count `failure`; returns the seconds to wait before the producer is made anew.

        Raises InstanceError (exit 2) when another process goes on fencing this one, `failure` (exit 1) when fatal
        errors repeat without a commit in between.
        """
        if failure.fenced:
            now, before = self._clock(), self._fenced_at
            if before is not None and now - before < self._transaction_timeout:
                raise InstanceError(
                    f"fenced twice within {self._transaction_timeout:g} s: another process runs as instance "
                    f"{self._instance!r}; give each its own --instance (PARKWAY_INSTANCE), or stop the other one"
                ) from failure
            self._fenced_at = now
        self._count += 1
        if self._count >= _ENOUGH:
            raise failure
        return 0.0 if self._count == 1 else min(_LONGEST_WAIT, 0.25 * 2.0**self._count)

    def committed(self) -> None:
        """A transaction has committed."""
        self._count = 0

    def left_group(self) -> None:
        """The group has moved on without this process: what fenced it may be its rightful successor."""
        self._fenced_at = None


class RecoveringProducer:
    """A `TransactionalProducer` whose transactions end in an outcome, whatever becomes of the producer.

    Not thread safe: one thread at a time calls an object of this class. `reports=False` saves a call for every record,
    and leaves `delivered` empty.
    """

    def __init__(
        self, settings: Settings, transactional_id: str, group: str, instance: str, *, reports: bool = True
    ) -> None:
        self._settings = settings
        self._id = transactional_id
        self._group = group
        self._log = get_logger("recovery").bind(transactional_id=transactional_id)
        self._producer = TransactionalProducer(settings, transactional_id, reports=reports)
        self._errors = FatalErrors(instance, settings.transaction_timeout)

    @property
    def delivered(self) -> Mapping[tuple[str, int], int]:
        """(topic, partition) -> the highest offset that the newest transaction was acknowledged at."""
        return self._producer.delivered

    def open(self) -> None:
        """Make the producer; ends a transaction that a predecessor with this id left open.

        Raises FatalTransactionError, such as for missing rights.
        """
        self._producer.open()

    def commit(self, records: Sequence[Record], offsets: Sequence[TopicPartition], group_metadata: Any) -> None:
        """One transaction, as `TransactionalProducer.commit`; `offsets` carry metadata that no other commit has.

        After a fatal error it blocks until the outcome is known: returns when it was committed, raises AbortedError
        when it was not (the same records may be produced again while the assignment holds; under one that is
        gone, `group_metadata` fences that). Raises FatalTransactionError when fatal errors repeat, InstanceError
        when another process runs as this instance, KafkaException when it may not read the group's offsets.
        """
        try:
            self._producer.commit(records, offsets, group_metadata)
        except GroupFencedError:
            self._errors.left_group()
            raise
        except FatalTransactionError as failure:
            reason = str(failure)
            self._make_anew(failure)
        else:
            self._errors.committed()
            return
        # Outside of `except`: the error's traceback holds the dead producer.
        done = self._is_committed(offsets)
        self._log.warning("outcome_resolved", committed=done, records=len(records))
        if not done:
            raise AbortedError(f"produced again after: {reason}")
        self._errors.committed()

    def _make_anew(self, failure: FatalTransactionError) -> None:
        while True:
            wait = self._errors.add(failure)
            metrics.RECOVERIES.labels(self._id).inc()
            self._log.warning("producer_made_anew", reason=str(failure), fenced=failure.fenced, wait_seconds=wait)
            time.sleep(wait)
            try:
                self._producer.open()
            except FatalTransactionError as again:
                failure = again
            else:
                return

    def _is_committed(self, sent: Sequence[TopicPartition]) -> bool:
        # A client of its own: the coordinator that an older one knows may be gone with the broker.
        group = GroupOffsets(self._settings, f"{self._id}.outcome", self._group)
        try:
            asked = [TopicPartition(one.topic, one.partition) for one in sent]
            while (found := group.committed(asked, _ASK)) is None:
                time.sleep(_ASK_AGAIN)
        finally:
            group.close()
        return all(
            (one.offset, one.metadata or "") == (mine.offset, mine.metadata or "")
            for one, mine in zip(found, sent, strict=True)
        )
