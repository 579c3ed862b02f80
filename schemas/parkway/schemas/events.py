"""Every event class, and `Event.parse` for all built-in types. Import events from here."""

from parkway.schemas.chat_events import ChatFailedError, ChatRequestEvent, ChatResponseEvent, ErrorInfo
from parkway.schemas.control_events import ApprovalRequestEvent, ApprovalResponseEvent, CancelRequestEvent
from parkway.schemas.decision_events import DecisionRequestEvent, DecisionResponseEvent
from parkway.schemas.event import TYPED_EVENTS, Event, new_id
from parkway.schemas.io_events import InputEvent, OutputEvent
from parkway.schemas.json_form import EventError
from parkway.schemas.messages import ChatMessage, FunctionCall, ToolCall
from parkway.schemas.retrieval_events import (
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    Document,
)
from parkway.schemas.tokens import Token
from parkway.schemas.tool_events import ToolRequestEvent, ToolResponseEvent, ToolResult
from parkway.schemas.typed_event import TypedEvent

__all__ = [
    "ApprovalRequestEvent",
    "ApprovalResponseEvent",
    "CancelRequestEvent",
    "ChatFailedError",
    "ChatMessage",
    "ChatRequestEvent",
    "ChatResponseEvent",
    "ContextRetrievalRequestEvent",
    "ContextRetrievalResponseEvent",
    "DecisionRequestEvent",
    "DecisionResponseEvent",
    "Document",
    "ErrorInfo",
    "Event",
    "EventError",
    "FunctionCall",
    "InputEvent",
    "OutputEvent",
    "Token",
    "ToolCall",
    "ToolRequestEvent",
    "ToolResponseEvent",
    "ToolResult",
    "TypedEvent",
    "new_id",
]

_BUILT_IN: tuple[type[TypedEvent], ...] = (
    InputEvent,
    OutputEvent,
    ChatRequestEvent,
    ChatResponseEvent,
    ToolRequestEvent,
    ToolResponseEvent,
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    DecisionRequestEvent,
    DecisionResponseEvent,
    CancelRequestEvent,
    ApprovalRequestEvent,
    ApprovalResponseEvent,
)
TYPED_EVENTS.update({event.EVENT_TYPE: event for event in _BUILT_IN})
