"""The two consumer threads of an action: the group's, and the one for `resume` (DESIGN 3 and 7.1)."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import wait
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from parkway.workers.consumer_thread import ConsumerThread, Listener
from parkway.workers.work import Epoch, Lane

_BEAT: Final = 1.0


class GroupConsumer(ConsumerThread):
    """Owns the group's consumer: epochs begin and end here.

    After an assignment nothing is fetched until `start` says where: the restore comes first.
    """

    lane = Lane.NEW

    def __init__(
        self, name: str, consumer: Consumer, topic: str, loop: asyncio.AbstractEventLoop, listener: Listener
    ) -> None:
        super().__init__(name, consumer, loop, listener)
        self._topic = topic
        self._epochs = 0

    def start_taking(self, epoch: Epoch, offsets: Sequence[tuple[int, int]]) -> None:
        """From any thread: fetch (partition, offset) pairs, if that epoch is still on."""

        def command() -> None:
            if self._epoch is epoch:
                self._assign([TopicPartition(self._topic, partition, offset) for partition, offset in offsets])

        self._commands.put(command)

    def _open(self) -> None:
        self._consumer.subscribe(
            [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._epochs += 1
        self._assign([])
        self._epoch = Epoch(self._epochs, consumer.consumer_group_metadata())
        owned = sorted(partition.partition for partition in partitions)
        self._report(self._listener.assigned, self._epoch, owned)

    def _on_revoke(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._end_epoch(lost=False)

    def _on_lost(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._end_epoch(lost=True)

    def _end_epoch(self, *, lost: bool) -> None:
        """Waits until the committer is outside its transaction: after this another owner may begin."""
        self._epoch = None
        ending = asyncio.run_coroutine_threadsafe(self._listener.revoked(lost=lost), self._loop)
        while not wait([ending], timeout=_BEAT).done:  # as long as the broker does not tell an outcome
            self._heart.beat()
        ending.result()
        self._resume(self._paused)
        self._consumer.unassign()
        self._partitions = []
        self._reported = []


class ResumeConsumer(ConsumerThread):
    """Owns the manually assigned consumer of `resume`, for the partitions that the group consumer owns."""

    lane = Lane.RESUME

    def __init__(
        self, name: str, consumer: Consumer, topic: str, loop: asyncio.AbstractEventLoop, listener: Listener
    ) -> None:
        super().__init__(name, consumer, loop, listener)
        self._topic = topic

    def start_taking(self, epoch: Epoch, offsets: Sequence[tuple[int, int]]) -> None:
        """From any thread: fetch (partition, offset) pairs for that epoch."""

        def command() -> None:
            self._epoch = epoch
            self._assign([TopicPartition(self._topic, partition, offset) for partition, offset in offsets])

        self._commands.put(command)

    async def end_epoch(self) -> None:
        """Returns when nothing is assigned any more."""
        done: asyncio.Future[None] = self._loop.create_future()

        def command() -> None:
            self._epoch = None
            self._assign([])
            self._loop.call_soon_threadsafe(_set_done, done)

        self._commands.put(command)
        await done

    def _step(self) -> None:
        if self._epoch is None:
            self._run_commands(timeout=0.5)
        else:
            super()._step()


def _set_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
