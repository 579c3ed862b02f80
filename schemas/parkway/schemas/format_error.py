"""Bytes that are no event in the format that they claim to be in."""

from parkway.schemas.errors import DlqReason
from parkway.schemas.json_form import EventError


class FormatError(EventError):
    """What every decoder raises, and nothing else. `reason` is the word for the DLQ."""

    def __init__(self, reason: DlqReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
