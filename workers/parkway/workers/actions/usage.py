"""What a chat request has cost so far, over all its rounds and attempts."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai.usage import RequestUsage


class Tally(BaseModel):
    """Counts of one chat request; it travels in the parked state.

    `calls` are model calls, `retries` those of them that repeat one which failed or whose reply could not be
    used, on the same model or on a fallback. `waited` is in seconds. `tool_calls` are those that tools were asked for.
    """

    model_config = ConfigDict(extra="ignore")

    calls: int = Field(default=0, ge=0)
    retries: int = Field(default=0, ge=0)
    waited: float = Field(default=0.0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    tool_calls: int = Field(default=0, ge=0)

    def add(self, usage: RequestUsage) -> None:
        self.prompt_tokens += usage.input_tokens
        self.completion_tokens += usage.output_tokens

    @property
    def tokens_used(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def tokens(self) -> dict[str, Any]:
        """Token counts under the names that Flink Agents gives them."""
        return {"promptTokens": self.prompt_tokens, "completionTokens": self.completion_tokens}


def tokens_of(usage: RequestUsage) -> dict[str, Any]:
    """The tokens of one call, under the same names."""
    return {"promptTokens": usage.input_tokens, "completionTokens": usage.output_tokens}
