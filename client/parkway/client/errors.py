"""What a waiting producer may be told instead of an answer. All of them are ParkwayErrors."""

from parkway.schemas.errors import ParkwayError


class ClientError(ParkwayError):
    """Base. A *failed response* is none of these: it is an answer, returned as the event that it is."""


class NotDeliveredError(ClientError):
    """Kafka did not take the event; the message says why. `maybe`: it may have been written all the same."""

    def __init__(self, message: str, *, maybe: bool = False) -> None:
        super().__init__(message)
        self.maybe = maybe


class RequestTimeoutError(ClientError, TimeoutError):
    """No answer within the time that was given."""

    def __init__(self, message: str, request_id: str) -> None:
        super().__init__(message)
        self.request_id = request_id


class DeadLetteredError(ClientError):
    """The event ended in the DLQ. `reason` is one of `errors.DlqReason`, `place` topic/partition/offset in the DLQ."""

    def __init__(self, event_id: str, reason: str, detail: str, place: str) -> None:
        super().__init__(f"event {event_id!r} ended in the DLQ: {reason}: {detail} ({place})")
        self.event_id = event_id
        self.reason = reason
        self.detail = detail
        self.place = place


class ClientClosedError(ClientError):
    """The client was closed, or is not open yet."""
