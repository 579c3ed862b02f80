"""How a tool call ended, and what a parked tool request remembers of it."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parkway.schemas.json_form import valid_text
from parkway.schemas.messages import ToolCall

_MAX_DIAGNOSTIC: Final = 2_000  # characters
OutcomeKind = Literal["ok", "failed", "timeout", "bad_arguments", "denied"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`diagnostic` is None for a success; of a failure, `value` is the text that the model is shown."""

    value: Any
    diagnostic: str | None = None
    kind: OutcomeKind = "ok"  # for metrics

    @property
    def success(self) -> bool:
        return self.diagnostic is None


class Kept(BaseModel):
    """An outcome while other calls of its request wait."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    value: Any = None
    diagnostic: str | None = None


class ToolState(BaseModel):
    """Of a tool request that waits for approvals: what its other calls gave, and until when the request may take.

    `deadline` is in milliseconds since 1970 (UTC). The parked record's own is when the approvals expire: earlier.
    """

    model_config = ConfigDict(extra="ignore")

    results: dict[str, Kept] = Field(default_factory=dict)
    deadline: int

    @classmethod
    def from_json(cls, value: Any) -> "ToolState":
        """Read a parked state. Raises ValueError that names the field."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "state"
            raise ValueError(f"parked tool request: {where}: {first['msg']}") from None

    def outcomes(self) -> dict[str, Outcome]:
        return {call_id: Outcome(kept.value, kept.diagnostic) for call_id, kept in self.results.items()}


def failed_text(name: str) -> str:
    return f"Tool `{name}` execute failed."


def failure(call: ToolCall, diagnostic: str, kind: OutcomeKind = "failed") -> Outcome:
    """The model is told that it failed, people why."""
    return Outcome(failed_text(call.function.name), shortened(diagnostic), kind)


def unknown_tool(name: str) -> Outcome:
    text = f"Tool `{name}` does not exist."
    return Outcome(text, text, "failed")


def denied(call: ToolCall, reason: str | None) -> Outcome:
    """A person said no, or nobody said anything: the model is told so."""
    text = f"Tool `{call.function.name}` was denied{f': {shortened(reason)}' if reason else '.'}"
    return Outcome(text, shortened(text), "denied")


def shortened(text: str) -> str:
    return valid_text(text[:_MAX_DIAGNOSTIC])


def describe(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {error}")
