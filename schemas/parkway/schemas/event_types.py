"""The built-in event types (DESIGN 4.1): the names that stand in an event's `type`."""

from typing import Final


class EventType:
    """Constants of the built-in event types, as `EventType.ChatRequestEvent` in code and in triggers."""

    InputEvent: Final = "_input_event"
    OutputEvent: Final = "_output_event"
    ChatRequestEvent: Final = "_chat_request_event"
    ChatResponseEvent: Final = "_chat_response_event"
    ToolRequestEvent: Final = "_tool_request_event"
    ToolResponseEvent: Final = "_tool_response_event"
    ContextRetrievalRequestEvent: Final = "_context_retrieval_request_event"
    ContextRetrievalResponseEvent: Final = "_context_retrieval_response_event"
    DecisionRequestEvent: Final = "_decision_request_event"
    DecisionResponseEvent: Final = "_decision_response_event"
    CancelRequestEvent: Final = "_cancel_request_event"
    ApprovalRequestEvent: Final = "_approval_request_event"
    ApprovalResponseEvent: Final = "_approval_response_event"

    @classmethod
    def names(cls) -> dict[str, str]:
        """Constant name -> event type, such as `{"InputEvent": "_input_event"}`."""
        return {name: value for name, value in vars(cls).items() if name.endswith("Event")}


BUILT_IN_TYPES: Final = frozenset(EventType.names().values())

# Requests that end in exactly one terminal response (a retrieval: or in one DLQ record).
REQUEST_TYPES: Final = frozenset(
    {
        EventType.ChatRequestEvent,
        EventType.ToolRequestEvent,
        EventType.ContextRetrievalRequestEvent,
        EventType.DecisionRequestEvent,
    }
)

# Sent to what is parked, by the token that they carry, and not to triggers only.
TOKEN_TYPES: Final = frozenset({EventType.CancelRequestEvent, EventType.ApprovalResponseEvent})

# What `<ns>.requests` may carry when a plan names nothing else.
DEFAULT_ACCEPTS: Final = (
    EventType.InputEvent,
    EventType.ChatRequestEvent,
    EventType.ContextRetrievalRequestEvent,
    EventType.DecisionRequestEvent,
)
