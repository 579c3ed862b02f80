"""Records for the DLQ: the original bytes and headers, with origin and reason beside them."""

from typing import Final

from parkway.runtime.records import Record
from parkway.schemas import headers
from parkway.schemas.headers import Headers

# What the DLQ's topic takes, less the room that headers need.
MAX_VALUE_BYTES: Final = 4_000_000
_MAX_HEADER_BYTES: Final = 100_000


def dead_letter(  # what a DLQ record is made of
    dlq: str,
    *,
    topic: str,
    partition: int,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    original: Headers,
    reason: str,
    message: str,
    attempts: int = 1,
    to: int | None = None,
    traceback: str | None = None,
) -> Record:
    """The DLQ record of a record that cannot be handled; what is too big for the DLQ is truncated.

    It goes to partition `to` of the DLQ; by default to that of the record. Of the `traceback` the end is kept: it is
    where the error was raised.
    """
    kept = [(name, content) for name, content in original if name not in _REPLACED]
    if sum(len(name) + len(content or b"") for name, content in kept) > _MAX_HEADER_BYTES:
        kept = []
    if value is not None and len(value) > MAX_VALUE_BYTES:
        message = f"{message} (value truncated from {len(value)} to {MAX_VALUE_BYTES} bytes)"
        value = value[:MAX_VALUE_BYTES]
    if key is not None and len(key) > _MAX_HEADER_BYTES:
        key = key[:_MAX_HEADER_BYTES]
    return Record(
        dlq,
        partition if to is None else to,
        key,
        value,
        [
            *kept,
            (headers.ORIGIN, f"{topic}/{partition}/{offset}".encode()),
            (headers.ATTEMPT, str(attempts).encode()),
            (headers.ERROR_TYPE, reason.encode()),
            (headers.ERROR_MESSAGE, message.encode("utf-8", "replace")[:4000]),
            *([(headers.ERROR_TRACEBACK, traceback.encode("utf-8", "replace")[-4000:])] if traceback else []),
        ],
    )


_REPLACED: Final = frozenset(
    {headers.ORIGIN, headers.ATTEMPT, headers.ERROR_TYPE, headers.ERROR_MESSAGE, headers.ERROR_TRACEBACK}
)
