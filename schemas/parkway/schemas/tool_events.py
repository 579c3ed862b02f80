"""A request to run tools, and their results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, StrictInt

from parkway.schemas import jsonio
from parkway.schemas.event_types import EventType
from parkway.schemas.messages import ToolCall
from parkway.schemas.typed_event import TypedEvent
from parkway.schemas.user_context import UserContext
from parkway.schemas.wire_model import ListOf


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call gave (DESIGN 4.3).

    `value` is the response value as it came. Of a failed call `error` is that value as text, which is what
    the model is shown. `diagnostic` is for people and logs.
    """

    success: bool
    value: Any
    error: str | None = None
    diagnostic: str | None = None


class ToolRequestEvent(TypedEvent):
    """Asks for tool calls on behalf of the chat model `model`."""

    EVENT_TYPE: ClassVar[str] = EventType.ToolRequestEvent

    model: str
    tool_calls: ListOf[ToolCall]
    user_context: UserContext = None


class ToolResponseEvent(TypedEvent):
    """Results by call id; `results()` reads them.

    `success`, `error` and `external_ids` are left as a producer wrote them, whatever they are.
    `timestamp` (milliseconds since 1970) is written by Flink Agents' Java side only.
    """

    EVENT_TYPE: ClassVar[str] = EventType.ToolResponseEvent
    OMITTED: ClassVar[frozenset[str]] = frozenset({"user_context", "timestamp"})

    request_id: str
    responses: dict[str, Any]
    success: Any = Field(default_factory=dict)
    error: Any = Field(default_factory=dict)
    external_ids: Any = Field(default_factory=dict)
    timestamp: StrictInt | None = None
    user_context: UserContext = None

    @classmethod
    def _prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        responses = values.get("responses")
        if values.get("success") is None and isinstance(responses, Mapping):
            return {**values, "success": dict.fromkeys(responses, True)}
        return values

    def results(self) -> dict[str, ToolResult]:
        """Call id -> result, for every id in `responses` and every failure without a response.

        A call failed when its `success` is exactly False; anything else is a success with that value.
        """
        flags = self.success if isinstance(self.success, dict) else {}
        diagnostics = self.error if isinstance(self.error, dict) else {}
        failed = [call_id for call_id, flag in flags.items() if flag is False]
        return {
            call_id: _result(self.responses.get(call_id), flags.get(call_id), diagnostics.get(call_id))
            for call_id in dict.fromkeys([*self.responses, *failed])
        }


def _result(value: Any, flag: Any, diagnostic: Any) -> ToolResult:
    reason = None if diagnostic is None else _as_text(diagnostic)
    if flag is not False:
        return ToolResult(success=True, value=value, diagnostic=reason)
    shown = (reason or "the call failed") if value is None else _as_text(value)
    return ToolResult(success=False, value=value, error=shown, diagnostic=reason)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else jsonio.dumps(value).decode()
