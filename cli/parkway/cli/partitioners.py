"""Which partition a producer has put a key into: Java's way (ours, too), and librdkafka's own."""

import zlib
from typing import Final

_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF
_SEED: Final = 0x9747B28C


def murmur2(key: bytes) -> int:
    """The 32-bit hash of Java's default partitioner, unsigned (org.apache.kafka.common.utils.Utils.murmur2)."""
    length = len(key)
    state = _SEED ^ length
    whole = length - length % 4
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        state = state * _M & _MASK ^ word
    rest = key[whole:]
    if rest:
        state = (state ^ int.from_bytes(rest, "little")) * _M & _MASK
    state = (state ^ state >> 13) * _M & _MASK
    return state ^ state >> 15


def partitions_of_key(key: bytes, partitions: int) -> list[int]:
    """Where Java, Parkway's commands and its client put it, and where librdkafka does unless it is told otherwise."""
    java = (murmur2(key) & 0x7FFFFFFF) % partitions
    return sorted({java, zlib.crc32(key) % partitions})
