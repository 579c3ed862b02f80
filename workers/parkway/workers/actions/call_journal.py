"""What the journal is told of a model call."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse

from parkway.schemas.errors import ErrorType
from parkway.schemas.journal import JournalOutcome
from parkway.workers.actions import conversation
from parkway.workers.actions.providers import quoted
from parkway.workers.actions.usage import tokens_of
from parkway.workers.effects import JournalEntry
from parkway.workers.times import now_ms


@dataclass(frozen=True, slots=True)
class CallContent:
    """What was asked and answered. It becomes JSON only where the setting keeps content: most do not."""

    instructions: str | None
    messages: Sequence[ModelMessage]
    reply: ModelResponse | None = None
    error: BaseException | None = None
    secrets: Iterable[str] = ()

    def __json_form__(self) -> dict[str, Any]:
        asked = conversation.to_chat_messages(self.messages)
        if self.instructions is not None:
            asked.insert(0, {"role": "system", "content": self.instructions})
        form: dict[str, Any] = {"messages": asked}
        if self.reply is not None:
            (form["reply"],) = conversation.to_chat_messages([self.reply])
        if self.error is not None:
            form["error"] = quoted(self.error, self.secrets)
        return form


@dataclass(slots=True)
class CallRecord:
    """One call of a model while it is made. `name` is the ChatModel's, `label` that of the model behind it."""

    name: str
    label: str
    messages: Sequence[ModelMessage]
    round: int
    attempt: int
    instructions: str | None = None
    secrets: tuple[str, ...] = ()
    outcome: JournalOutcome = "success"
    error_type: ErrorType | None = None
    error: BaseException | None = None
    reply: ModelResponse | None = None
    started_at: int = field(default_factory=now_ms)
    began: float = field(default_factory=time.perf_counter)

    def failed(self, kind: ErrorType, error: BaseException | None) -> None:
        """`error` is None when a reply arrived that is of no use."""
        self.outcome, self.error_type, self.error = "failed", kind, error

    @property
    def how(self) -> str:
        """The outcome as the metric says it."""
        return "ok" if self.outcome == "success" else str(self.error_type or self.outcome)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def entry(self) -> JournalEntry:
        """The entry of a call that ends now."""
        reply = self.reply
        return JournalEntry(
            kind="model_call",
            name=self.name,
            started_at=self.started_at,
            ended_at=now_ms(),
            outcome=self.outcome,
            round=self.round,
            attempt=self.attempt,
            error_type=str(self.error_type) if self.error_type is not None else None,
            model=(reply.model_name if reply is not None else None) or self.label,
            usage=tokens_of(reply.usage) if reply is not None else None,
            content=CallContent(self.instructions, self.messages, reply, self.error, self.secrets),
        )
