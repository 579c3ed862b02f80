"""The committed state of one partition's keys, of one action: what `<ns>.state` says (DESIGN 3).

A record of a key starts when the one before is committed (flow.py), so nothing here is ever in hand. Used by one
thread at a time: by a restore's, then on the event loop; sizes may be read from any.
"""

from typing import Final

_OVERHEAD: Final = 300  # bytes of Python objects around a key and its value


class StateStore:
    """Records of `<ns>.state` as they are, by record key."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    @property
    def value_bytes(self) -> int:
        return self._bytes

    @property
    def resident_bytes(self) -> int:
        """Bytes of memory that are free again when the store is dropped."""
        return self._bytes + len(self._values) * _OVERHEAD

    def get(self, record_key: bytes | None) -> bytes | None:
        """The record of a key; None for one that has no state, and for no key."""
        return self._values.get(record_key) if record_key is not None else None

    def change(self, record_key: bytes, value: bytes | None) -> None:
        """A committed record; None is a tombstone."""
        old = self._values.pop(record_key, None)
        self._bytes -= len(old) if old is not None else 0
        if value is not None:
            self._values[record_key] = value
            self._bytes += len(value)
