"""The record of `<ns>.journal`: one per model call, tool call, decision and approval, as it ended (DESIGN 3)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parkway.schemas.versions import RecordError, read_versioned

JournalKind = Literal["model_call", "tool_call", "decision", "approval"]
JournalOutcome = Literal["success", "failed", "cancelled", "approved", "denied"]


class JournalError(ValueError):
    """A journal record that this version cannot read."""


class JournalRecord(BaseModel):
    """Who called what for which request, what it cost and how it ended. Times are milliseconds since 1970 (UTC).

    Which of them a request made, in order: its records by `round`, then `attempt`. A call that ran again after a
    crash has a record for the run whose result was committed only.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    v: Literal[1] = 1
    build: str
    kind: JournalKind
    action: str
    name: str  # of the model, tool or decision model; of the tool that an approval is about
    root_id: str  # id of the event from outside that everything began with
    request_id: str
    call_id: str | None = None  # of a tool call or approval
    round: int = Field(default=1, ge=1)
    attempt: int = Field(default=1, ge=1)
    started_at: int
    ended_at: int
    outcome: JournalOutcome
    error_type: str | None = None  # one of `errors.ErrorType`
    model: str | None = None  # the provider's own name of the model that answered
    usage: dict[str, Any] | None = None  # promptTokens, completionTokens
    content_kept: Literal["none", "redacted", "full"] = "none"
    content: Any = None  # what was asked and answered, as far as `content_kept` lets it; or `left_out`: why it is not

    def to_json(self) -> bytes:
        return self.model_dump_json().encode()

    @classmethod
    def from_json(cls, data: bytes) -> "JournalRecord":
        """Read a record. Raises JournalError with the field and the reason."""
        try:
            return read_versioned(cls, data)
        except RecordError as error:
            raise JournalError(f"journal record: {error}") from None
