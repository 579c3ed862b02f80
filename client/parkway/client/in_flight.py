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
        self._undelivered: dict[str, list[Waiter]] = {}  # by id
        self._placed: dict[Root, Waiter] = {}
        self._early: dict[Root, list[Answer]] = {}
        self._partitions: Counter[int] = Counter()

    def __len__(self) -> int:
        with self._lock:
            return len(self._placed) + sum(map(len, self._undelivered.values()))

    def add(self, waiter: Waiter) -> None:
        """It is about to be produced."""
        with self._lock:
            self._undelivered.setdefault(waiter.event.id, []).append(waiter)

    def place(self, waiter: Waiter, root: Root) -> None:
        """Its delivery report came: from now on what it causes is given to it."""
        with self._lock:
            self._leave_undelivered(waiter)
            waiter.root = root
            if waiter.over:
                return
            self._placed[root] = waiter
            self._partitions[root[0]] += 1
            for answer in self._early.pop(root, ()):
                self._give(waiter, answer)

    def remove(self, waiter: Waiter) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            waiter.over = True
            if waiter.root is None:
                return  # its place is still to be known, for a cancellation
            if self._placed.pop(waiter.root, None) is not None:
                self._partitions[waiter.root[0]] -= 1

    def undeliverable(self, waiter: Waiter) -> None:
        """It will never have a place."""
        with self._lock:
            waiter.over = True
            self._leave_undelivered(waiter)

    def offer(self, answer: Answer) -> None:
        """A record was read."""
        with self._lock:
            waiter = self._placed.get(answer.root)
            if waiter is not None:
                self._give(waiter, answer)
            elif self._undelivered and len(self._early) < _MOST_EARLY:
                root_id = answer.root_id.decode("utf-8", "replace")
                if not root_id or root_id in self._undelivered:
                    self._early.setdefault(answer.root, []).append(answer)

    def fail(self, error: ClientError) -> None:
        """None of them will be answered."""
        with self._lock:
            waiters = [*self._placed.values(), *(one for same in self._undelivered.values() for one in same)]
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
            same = self._undelivered.get(event_id) or [one for one in self._placed.values() if one.event.id == event_id]
            return same[-1] if same else None

    def is_undelivered(self) -> bool:
        """Is the place of anything that was produced unknown?"""
        return bool(self._undelivered)

    def waits_in(self, partition: int) -> bool:
        """Is an answer to come in this partition?"""
        return self._partitions[partition] > 0

    def _give(self, waiter: Waiter, answer: Answer) -> None:
        if waiter.take(answer):
            self.remove(waiter)

    def _leave_undelivered(self, waiter: Waiter) -> None:
        same = self._undelivered.get(waiter.event.id, [])
        if waiter in same:
            same.remove(waiter)
        if not same:
            self._undelivered.pop(waiter.event.id, None)
        if not self._undelivered:
            self._early.clear()
