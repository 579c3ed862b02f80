"""The records of `<ns>.state`: what a user's action remembers of one record key."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from parkway.schemas.versions import RecordError, read_versioned


class StateError(ValueError):
    """State that cannot be read, used or written; the message says which and the way out."""


class StateRecord(BaseModel):
    """One live record per action and record key; each handled record that changes it overwrites it.

    `written_by` is the topic/partition/offset of the record whose handler wrote this: no two versions are the same
    bytes, so a handler that runs on over a rebalance can be told from one whose state has moved on.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    v: Literal[1] = 1
    build: str
    action: str
    written_by: str
    state: dict[str, Any]

    def to_json(self) -> bytes:
        return self.model_dump_json().encode()

    @classmethod
    def from_json(cls, data: bytes) -> "StateRecord":
        """Read a record. Raises StateError with the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise StateError(f"state record: {error}") from None


def state_key(action: str, record_key: bytes) -> bytes:
    """The record key: `<action>/<record key>`, whatever bytes that is."""
    return action.encode() + b"/" + record_key
