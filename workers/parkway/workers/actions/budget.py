"""The limits of what one chat request may use, over all its rounds, retries and fallbacks."""

from collections.abc import Callable
from typing import Any

from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.usage import RequestUsage, RunUsage, UsageLimits

from parkway.schemas.errors import ErrorType
from parkway.workers.actions.chat_answers import ChatError
from parkway.workers.actions.usage import Tally


class Budget:
    """Checks a request's tally, which is parked with it, against its model's limits.

    pydantic-ai's own checks, with one difference: `request_limit` counts every call of a model, as each may be paid.
    The checks raise ChatError (`budget_exceeded`) with the limit, and what was used.
    """

    def __init__(self, limits: UsageLimits | None) -> None:
        self._limits = limits

    def before_call(self, tally: Tally, failure: str | None = None) -> None:
        """Whether one more call may be made. `failure` is why the one before has to be repeated."""
        if self._limits is not None:
            self._check(self._limits.check_before_request, _used(tally), tally, failure)

    def after_call(self, tally: Tally, usage: RequestUsage) -> None:
        """Whether what the call used, which the tally holds already, was within the limits."""
        if self._limits is not None:
            self._check(self._limits.check_tokens, _used(tally), tally)
            self._check(self._limits.check_per_request_input_tokens, usage.input_tokens, tally)

    def before_tools(self, tally: Tally) -> None:
        """Whether the tool calls may be made that the tally was just raised by."""
        if self._limits is not None:
            self._check(self._limits.check_before_tool_call, _used(tally), tally)

    def _check(self, check: Callable[[Any], None], used: Any, tally: Tally, failure: str | None = None) -> None:
        try:
            check(used)
        except UsageLimitExceeded as error:
            limit = str(error).partition(". Consider ")[0]  # a hint of pydantic-ai, with a link
            message = (
                f"{limit}; used: {tally.calls} model calls, {tally.prompt_tokens} input tokens, "
                f"{tally.completion_tokens} output tokens, {tally.tool_calls} tool calls"
            )
            if failure is not None:
                message += f"; the last call failed: {failure}"
            raise ChatError(ErrorType.BUDGET_EXCEEDED, message) from None


def _used(tally: Tally) -> RunUsage:
    return RunUsage(
        requests=tally.calls,
        input_tokens=tally.prompt_tokens,
        output_tokens=tally.completion_tokens,
        tool_calls=tally.tool_calls,
    )
