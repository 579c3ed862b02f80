"""Cancellations of one partition whose requests have not come yet (DESIGN 7.2).

Each stands in `<ns>.parked` as a record of its own. Here it counts from the moment it is decided: results commit in
the order in which they are finished, so a request that meets one before it is committed is answered behind it. Used on
the event loop only.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from parkway.schemas.parked import ParkedCancellation, ParkedKind, parked_key

# Of each kind: tokens, which outsiders may invent, leave the room alone of those who cancel by an id.
MOST: Final = 10_000


class Remembered:
    def __init__(self, restored: Mapping[bytes, ParkedCancellation] | None = None) -> None:
        self._by_key = dict(restored or {})
        self._changed = False
        self._kinds = Counter(_kind(one) for one in self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: bytes) -> bool:
        return key in self._by_key

    def has_room(self, cancellation: ParkedCancellation) -> bool:
        return self._kinds[_kind(cancellation)] < MOST

    def committed(self) -> dict[bytes, ParkedCancellation] | None:
        """What was restored; None once anything has changed: what of it is committed is not known here."""
        return None if self._changed else self._by_key

    def add(self, key: bytes, cancellation: ParkedCancellation) -> None:
        self._changed = True
        self._kinds[_kind(cancellation)] += 1
        self._by_key[key] = cancellation

    def take(self, action: str, request_id: str, secret: str | None) -> dict[bytes, ParkedCancellation]:
        """Remove and give, by key, what was said about a request that comes now; mostly nothing."""
        if not self._by_key:
            return {}
        keys = [parked_key(request_id, action, ParkedKind.CANCELLED_ID)]
        if secret is not None:
            keys.append(parked_key(secret, action, ParkedKind.CANCELLED_TOKEN))
        taken = {key: self._by_key[key] for key in keys if key in self._by_key}
        for key in taken:
            self.forget(key)
        return taken

    def overdue(self, now_ms: int) -> Iterator[bytes]:
        """Keys of those whose deadline has passed."""
        for key, cancellation in self._by_key.items():
            if cancellation.deadline <= now_ms:
                yield key

    def forget(self, key: bytes) -> None:
        cancellation = self._by_key.pop(key, None)
        if cancellation is not None:
            self._changed = True
            self._kinds[_kind(cancellation)] -= 1


def _kind(cancellation: ParkedCancellation) -> ParkedKind:
    return ParkedKind.CANCELLED_TOKEN if cancellation.token is not None else ParkedKind.CANCELLED_ID
