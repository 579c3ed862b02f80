"""The events of ours that are on their way, by their place in `requests`."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

from parkway.client.answers import Answer, Root
from parkway.client.errors import ClientError
from parkway.client.waiters import Waiter

_MOST_EARLY: Final = 10_000


class InFlight:
    """Finds the waiter of an answer. Any thread calls it.

    An answer may be read before the delivery report of its request is: such ones are kept until the places of all that
    was produced are known.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: dict[str, Waiter] = {}  # by id: those that somebody waits for
        self._undelivered: set[Waiter] = set()  # those whose place is not known, waited for or not
        self._placed: dict[Root, Waiter] = {}
        self._early: dict[Root, list[Answer]] = {}
        self._partitions: Counter[int] = Counter()

    def __len__(self) -> int:
        with self._lock:
            return len(self._waiting)

    def add(self, waiter: Waiter) -> bool:
        """It is about to be produced. False: something else under its id is on its way."""
        with self._lock:
            if self._waiting.setdefault(waiter.event.id, waiter) is not waiter:
                return False
            self._undelivered.add(waiter)
            return True

    def place(self, waiter: Waiter, root: Root) -> None:
        """Its delivery report came: from now on what it causes is given to it."""
        with self._lock:
            waiter.root = root
            early = self._early.pop(root, ())
            self._is_decided(waiter)
            if waiter.over:
                return
            self._placed[root] = waiter
            self._partitions[root[0]] += 1
            for answer in early:
                if not waiter.over:
                    self._give(waiter, answer)

    def remove(self, waiter: Waiter) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            waiter.over = True
            if self._waiting.get(waiter.event.id) is waiter:
                del self._waiting[waiter.event.id]
            if waiter.root is not None and self._placed.pop(waiter.root, None) is not None:
                self._partitions[waiter.root[0]] -= 1

    def undeliverable(self, waiter: Waiter) -> None:
        """It will never have a place."""
        with self._lock:
            self.remove(waiter)
            self._is_decided(waiter)

    def offer(self, answer: Answer) -> None:
        """A record was read."""
        with self._lock:
            waiter = self._placed.get(answer.root)
            if waiter is not None:
                self._give(waiter, answer)
            elif self._undelivered and len(self._early) < _MOST_EARLY and self._may_be_ours(answer):
                self._early.setdefault(answer.root, []).append(answer)

    def fail(self, error: ClientError) -> None:
        """None of them will be answered."""
        with self._lock:
            waiters = list(self._waiting.values())
            for waiter in waiters:
                self.remove(waiter)
        for waiter in waiters:
            waiter.fail(error)

    def when_placed(self, waiter: Waiter, call: Callable[[Root | None], None]) -> None:
        """Call it with the place of `waiter`, now or when it has one."""
        with self._lock:
            if waiter.root is None:
                waiter.when_placed.append(call)
                return
        call(waiter.root)

    def find(self, event_id: str) -> Waiter | None:
        """What is waited for under this id."""
        with self._lock:
            return self._waiting.get(event_id)

    def is_undelivered(self) -> bool:
        """Is the place of anything that was produced unknown?"""
        return bool(self._undelivered)

    def waits_in(self, partition: int) -> bool:
        """Is an answer to come in this partition?"""
        return self._partitions[partition] > 0

    def _may_be_ours(self, answer: Answer) -> bool:
        return not answer.root_id or answer.root_id.decode("utf-8", "replace") in self._waiting

    def _give(self, waiter: Waiter, answer: Answer) -> None:
        if waiter.take(answer):
            self.remove(waiter)

    def _is_decided(self, waiter: Waiter) -> None:
        self._undelivered.discard(waiter)
        if not self._undelivered:
            self._early.clear()
