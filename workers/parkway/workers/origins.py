"""What a request's record is known by: its place, what it asks, and the secret that cancels it."""

import hashlib

from parkway.runtime.records import Incoming
from parkway.schemas import headers
from parkway.schemas.tokens import is_secret
from parkway.workers.entry import Origin


def request_hash(record: Incoming) -> str:
    """A hash of what a request asks: its body and where the answer goes."""
    reply_to = headers.as_dict(record.headers).get(headers.REPLY_TO, b"")
    return hashlib.sha256(reply_to + b"\0" + (record.value or b"")).hexdigest()[:32]


def cancel_secret(record: Incoming) -> str | None:
    """What the requester chose as the secret of its cancel token."""
    secret = headers.as_dict(record.headers).get(headers.CANCEL_SECRET, b"").decode("utf-8", "replace")
    return secret if is_secret(secret) else None


def origin_of(record: Incoming) -> Origin:
    """What the index keeps of a request's record."""
    return Origin(record.topic, record.partition, record.offset, request_hash(record), cancel_secret(record))
