"""`requires_approval`: which calls of a tool a person must allow first."""

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final, TypeAlias

from parkway.agents.errors import AgentError
from parkway.schemas.json_form import valid_text

Condition: TypeAlias = bool | str | Callable[[Mapping[str, Any]], bool | str]
"""All calls or none; a text: all, and this is why; a function of the arguments that says so call by call."""

_LONGEST_REASON: Final = 2_000  # characters


class ApprovalRule:
    """Of one tool. A call waits `timeout` seconds for its person; None: nearly as long as its request may take."""

    def __init__(self, tool: str, condition: Condition, timeout: float | None) -> None:
        """Raise AgentError for what cannot be meant."""
        if not isinstance(condition, bool | str) and (
            not callable(condition) or inspect.iscoroutinefunction(condition)
        ):
            raise AgentError(
                f"tool {tool!r}: requires_approval={condition!r}: True, False, a text that says why, or a function "
                "(not async) of the arguments, such as lambda args: args['amount'] > 100"
            )
        if timeout is not None and (isinstance(timeout, bool) or timeout <= 0):
            raise AgentError(f"tool {tool!r}: approval_timeout={timeout!r}: seconds, more than 0")
        if timeout is not None and condition is False:
            raise AgentError(f"tool {tool!r}: approval_timeout={timeout:g} without requires_approval")
        self._condition = condition
        self.timeout = timeout

    @property
    def may_ask(self) -> bool:
        """Is there any call that must wait?"""
        return self._condition is not False and self._condition != ""

    def reason(self, arguments: Mapping[str, Any]) -> str | None:
        """None: the call may run. Else it must wait, and the text says why; it may be empty.

        A function that raises lets no call through, and what it does to its arguments stays with it.
        """
        condition = self._condition
        if callable(condition):
            try:
                condition = condition(deepcopy(arguments))
            except (Exception, SystemExit) as error:
                return f"requires_approval raised {type(error).__name__}"
        if isinstance(condition, str):
            return valid_text(condition[:_LONGEST_REASON]) or None
        return "" if condition else None
