"""Puts dead letters back, each once, whatever is killed meanwhile.

A transaction holds some records at their old places and, in each partition of the DLQ that they are from, the marker
that says so. All replays of a namespace have one transactional id: one that starts ends (or completes) the transaction
that another left open and fences it, and only then reads the markers. So what it finds unmarked is not put back, and
nobody else can do it any more. The markers are read again after every time that the producer had to be opened anew.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from parkway.cli.dlq_target import Stays, Targets
from parkway.cli.dlq_topic import DeadLetter, DlqTopic
from parkway.runtime.logs import get_logger
from parkway.runtime.records import Record
from parkway.runtime.settings import Settings
from parkway.runtime.transaction_errors import AbortedError, FatalTransactionError, RecordRefusedError
from parkway.runtime.transactions import TransactionalProducer
from parkway.schemas.errors import ParkwayError
from parkway.schemas.replayed import ReplayMarker

_MOST_RECORDS: Final = 200
_MOST_BYTES: Final = 4_000_000
_PATIENCE: Final = 120.0  # seconds without a transaction that commits
_RETRY: Final = 0.5


class ReplayError(ParkwayError):
    """A replay that cannot go on. What it has put back is marked; another one goes on from there."""


@dataclass(slots=True)
class Outcome:
    """What a replay did. `stayed`: why -> how many; `stopped`: it was asked to."""

    replayed: Counter[str] = field(default_factory=Counter)  # by topic
    stayed: Counter[str] = field(default_factory=Counter)
    elsewhere: int = 0  # another replay had put them back meanwhile
    stopped: bool = False

    @property
    def count(self) -> int:
        return self.replayed.total()


class Replay:
    """One run. `progress` is called with how many dead letters are done; `stopping` is asked between transactions."""

    def __init__(
        self,
        settings: Settings,
        topic: DlqTopic,
        targets: Targets,
        *,
        progress: Callable[[int], None],
        stopping: Callable[[], bool],
    ) -> None:
        self._topic = topic
        self._targets = targets
        self._progress = progress
        self._stopping = stopping
        self._producer = TransactionalProducer(settings, f"{settings.namespace}.dlq-replay")
        self._log = get_logger("replay")
        self.outcome = Outcome()

    def run(self, letters: Iterable[DeadLetter]) -> ReplayError | None:
        """Put them back; `outcome` says what was. Returns what ended it: another replay, or brokers that are away."""
        try:
            self._run(letters)
        except ReplayError as failure:
            return failure
        return None

    def _run(self, letters: Iterable[DeadLetter]) -> None:
        batch: list[tuple[DeadLetter, Record]] = []
        size = 0
        self._open()
        for letter in letters:
            if self._stopping():
                break
            target = self._targets.of(letter)
            if isinstance(target, Stays):
                self.outcome.stayed[target.why] += 1
                self._progress(1)
                continue
            batch.append((letter, target))
            size += len(target.value or b"")
            if len(batch) >= _MOST_RECORDS or size >= _MOST_BYTES:
                self._put_back(batch)
                batch, size = [], 0
        if not self._stopping():
            self._put_back(batch)
        self.outcome.stopped = self._stopping()

    def _open(self) -> None:
        try:
            self._producer.open()
        except FatalTransactionError as failure:
            raise ReplayError(f"no transaction can be begun: {failure}") from None
        self._topic.read_markers(wait=True)

    def _put_back(self, batch: list[tuple[DeadLetter, Record]]) -> None:
        """All of them, but those that Kafka refuses: found by halving."""
        began = time.monotonic()
        while batch:
            if self._producer.needs_open:
                self._open()
            left = [one for one in batch if (one[0].partition, one[0].offset) not in self._topic.replayed]
            self.outcome.elsewhere += len(batch) - len(left)
            self._progress(len(batch) - len(left))
            batch = left
            if not batch:
                return
            try:
                self._producer.publish([*(record for _, record in batch), *self._markers(batch)])
            except RecordRefusedError as refused:
                self._refused(batch, refused)
                return
            except AbortedError as aborted:
                if time.monotonic() - began > _PATIENCE:
                    raise ReplayError(f"{aborted}: run it again when the brokers answer; nothing is lost") from None
                self._log.warning("replay_repeated", reason=str(aborted))
                time.sleep(_RETRY)
            except FatalTransactionError as fatal:
                raise ReplayError(self._explained(fatal)) from None
            else:
                self._done(batch)
                return

    def _refused(self, batch: list[tuple[DeadLetter, Record]], refused: RecordRefusedError) -> None:
        guilty = {position for position in refused.guilty if position < len(batch)}
        if len(batch) == 1:
            self.outcome.stayed[f"are refused by Kafka: {refused}"] += 1
            self._progress(1)
        elif guilty:
            for position in sorted(guilty):
                self._put_back([batch[position]])
            self._put_back([one for position, one in enumerate(batch) if position not in guilty])
        else:
            middle = len(batch) // 2
            self._put_back(batch[:middle])
            self._put_back(batch[middle:])

    def _done(self, batch: list[tuple[DeadLetter, Record]]) -> None:
        for letter, record in batch:
            self._topic.replayed.add(letter.partition, letter.offset, letter.offset)
            self.outcome.replayed[record.topic] += 1
        self._progress(len(batch))

    def _markers(self, batch: list[tuple[DeadLetter, Record]]) -> list[Record]:
        offsets: defaultdict[int, list[int]] = defaultdict(list)
        for letter, _ in batch:
            offsets[letter.partition].append(letter.offset)
        markers = {partition: ReplayMarker.of(found) for partition, found in offsets.items()}
        return [
            Record(self._topic.topic, partition, None, marker.to_json(), marker.headers())
            for partition, marker in markers.items()
        ]

    @staticmethod
    def _explained(fatal: FatalTransactionError) -> str:
        if fatal.fenced:
            return (
                "another `parkway dlq replay` of this namespace has taken over (or the brokers were away for longer "
                "than the transaction timeout); nothing is put back twice: run it again to go on"
            )
        return f"{fatal}; nothing is put back twice: run it again to go on"
