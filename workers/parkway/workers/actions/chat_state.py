"""What a chat request remembers between two tool rounds: the `state` of its parked record."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parkway.workers.actions.usage import Tally


class PendingCall(BaseModel):
    """One tool call of the round that is waited for. `id` is ours, `provider_id` the model's own.

    `answer` is set when no tool request carries this call, because the model has no such tool.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    provider_id: str
    tool: str
    answer: str | None = None


class ChatState(BaseModel):
    """`conversation` is what came after the request's own messages, in pydantic-ai's JSON form.

    `chat_model` is the name of the ChatModel that answers the request: a router's choice holds for all rounds. `model`
    is the label of the model behind it that answered last. `deadline` is in milliseconds since 1970 (UTC).
    """

    model_config = ConfigDict(extra="ignore")

    conversation: list[Any] = Field(default_factory=list)
    calls: list[PendingCall] = Field(default_factory=list)
    round: int = Field(default=0, ge=0)
    chat_model: str | None = None
    model: str | None = None
    output_retries: int = Field(default=0, ge=0)
    deadline: int
    tally: Tally = Field(default_factory=Tally)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, value: Any) -> "ChatState":
        """Read a parked state. Raises ValueError that names the field."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "state"
            raise ValueError(f"parked chat: {where}: {first['msg']}") from None
