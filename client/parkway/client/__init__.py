"""For producers that wait for the response: `Client` (asyncio) and `SyncClient`. They import no model library."""

from parkway.client.client import Client
from parkway.client.errors import (
    ClientClosedError,
    ClientError,
    DeadLetteredError,
    NotDeliveredError,
    RequestTimeoutError,
)
from parkway.client.sync_client import SyncClient

__all__ = [
    "Client",
    "ClientClosedError",
    "ClientError",
    "DeadLetteredError",
    "NotDeliveredError",
    "RequestTimeoutError",
    "SyncClient",
]
