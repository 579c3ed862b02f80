"""What is in hand: an epoch, records taken in it, and results that wait for their transaction."""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from parkway.runtime.records import Incoming, Record
from parkway.schemas.parked import ParkedStep
from parkway.workers.effects import Task
from parkway.workers.entry import Entry


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """One assignment. Everything taken and produced in it carries it; what is of another epoch is dropped.

    `metadata` is the consumer group's, captured in `on_assign`, never fetched later: the broker checks member and
    generation, not who owns a partition, so fresh metadata would let a zombie commit.
    """

    number: int
    metadata: Any
    stamp: str = field(default_factory=lambda: secrets.token_hex(8))


class Lane(Enum):
    """The two topics of an action."""

    NEW = "action"
    RESUME = "resume"

    __hash__ = object.__hash__  # members are single; Enum's own hash is Python code, and lanes are keys everywhere


@dataclass(slots=True, eq=False)
class Work:
    """A record that was taken and is not completed. `event` is there once it is dispatched."""

    epoch: Epoch
    lane: Lane
    record: Incoming
    event: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None  # the request whose claim this work holds
    started_from: bytes | None = None  # the parked record that its handler was given
    urgency: int = 0  # of a suspect: the deaths that it is suspected of
    traceparent: str | None = None  # of its handler's span: what it sends carries it
    state_from: bytes | None = None  # the state that its handler was given
    recordings: "dict[str, Recording] | None" = None  # its steps; None: no handler has started, or it has none

    @property
    def partition(self) -> int:
        return self.record.partition


@dataclass(slots=True, eq=False)
class Recording:
    """The result of a step of `work`. Committed, or on its way, or refused for a reason; its futures wait for that."""

    work: Work
    name: str
    step: ParkedStep
    committed: bool = False
    refusal: str | None = None
    waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def commit(self) -> None:
        """Its transaction has committed."""
        self.committed = True
        self._wake()

    def refuse(self, reason: str) -> None:
        """Kafka does not take it."""
        self.refusal = reason
        self._wake()

    def _wake(self) -> None:
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


@dataclass(slots=True, eq=False)
class Held:
    """A work that was dispatched and does not run: it waits for its back-off to end, or for a limit. Never changed."""

    work: Work
    task: Task


@dataclass(slots=True, eq=False)
class Result:
    """What one transaction must hold together: records, a change of the parked index, completed offsets.

    `work` is None for a sweep and for what has no source record. `task` is what the effects were computed
    from, for the case that Kafka refuses the records. `cancels` is the record whose handler a cancellation has
    stopped: it completes here and only here, or a crash in between would lose its request. `drops` are tombstones that
    belong to the end of the record, whichever records say that end.
    """

    epoch: Epoch
    partition: int
    work: Work | None
    task: Task | None = None
    cancels: Work | None = None
    forgets: tuple[bytes, ...] = ()  # keys of remembered cancellations that this result uses up
    abandons: str | None = None  # the tool request that nobody waits for any more
    records: list[Record] = field(default_factory=list)
    drops: list[Record] = field(default_factory=list)
    recording: Recording | None = None  # a step: the record that it belongs to goes on
    state: tuple[bytes, bytes | None] | None = None  # record key and its new state
    upsert: tuple[str, Entry] | None = None  # request id and its new entry
    ends: str | None = None  # request id that this result ends
    how: str | None = None  # of a response: `answered`, or the error's type
    refusals: int = 0
    size: int = 0  # bytes of its records' values, as the committer reckons them
    again: float | None = None  # seconds: the attempt failed, and the record is handled once more after them

    def produced(self) -> list[Record]:
        """Everything that is to be produced."""
        return self.records + self.drops if self.drops else self.records
