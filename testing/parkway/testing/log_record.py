"""A record of a test's log, whether it lies in memory or in Kafka."""

import zlib
from dataclasses import dataclass

from parkway.schemas import headers as names
from parkway.schemas.headers import Headers


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A committed record. `timestamp` in milliseconds since 1970 (UTC)."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    raw_headers: Headers

    @property
    def headers(self) -> dict[str, bytes]:
        """Of a repeated name the last one counts."""
        return names.as_dict(self.raw_headers)


def partition_of(key: bytes | None, partitions: int, otherwise: int) -> int:
    """Where librdkafka's default partitioner puts a key; a record without one goes to `otherwise`."""
    return zlib.crc32(key) % partitions if key is not None else otherwise % partitions
