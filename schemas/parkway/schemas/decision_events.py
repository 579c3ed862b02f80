"""Named questions about a state, and their answers (DESIGN 7.6)."""

from typing import Any, ClassVar

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from parkway.schemas.chat_events import ErrorInfo
from parkway.schemas.event_types import EventType
from parkway.schemas.typed_event import TypedEvent
from parkway.schemas.user_context import UserContext


class DecisionRequestEvent(TypedEvent):
    """Asks the decision model `model`. A question: `{type: noul|choice|score, instructions?, criteria?}`."""

    EVENT_TYPE: ClassVar[str] = EventType.DecisionRequestEvent

    model: str
    state: Any
    questions: dict[str, dict[str, Any]] = Field(min_length=1)
    user_context: UserContext = None


class DecisionResponseEvent(TypedEvent):
    """Answers by question name. A failed one may hold some beside its `error`, never invented ones."""

    EVENT_TYPE: ClassVar[str] = EventType.DecisionResponseEvent

    request_id: str
    model: str
    success: StrictBool = True
    answers: dict[str, dict[str, Any]] = Field(default_factory=dict)
    error: ErrorInfo | None = None
    usage: dict[str, Any] | None = None
    retry_count: StrictInt = 0
    total_retry_wait_sec: StrictInt | StrictFloat = 0
    user_context: UserContext = None
