"""Approvals and cancellations of parked requests (DESIGN 7.2)."""

from typing import ClassVar, Self

from pydantic import StrictBool, model_validator

from parkway.schemas.event_types import EventType
from parkway.schemas.messages import ToolCall
from parkway.schemas.tokens import TokenText
from parkway.schemas.typed_event import TypedEvent


class ApprovalRequestEvent(TypedEvent):
    """Asks a person whether `call` may run. `request_id` is the tool request it belongs to.

    `token` is fresh for every approval request and call; the answer must carry it and may use it once. `reason` says
    why a person is asked. The header `parkway-deadline` says until when an answer counts.
    """

    EVENT_TYPE: ClassVar[str] = EventType.ApprovalRequestEvent
    OMITTED: ClassVar[frozenset[str]] = frozenset({"reason"})

    request_id: str
    token: TokenText
    call: ToolCall
    reason: str | None = None


class ApprovalResponseEvent(TypedEvent):
    """A person's answer, with `request_id` and `token` of the approval request.

    `reason` is what the model is told when `approved` is false.
    """

    EVENT_TYPE: ClassVar[str] = EventType.ApprovalResponseEvent
    OMITTED: ClassVar[frozenset[str]] = frozenset({"reason"})

    request_id: str
    token: TokenText
    approved: StrictBool
    reason: str | None = None


class CancelRequestEvent(TypedEvent):
    """Ends a request in its failed response `cancelled`.

    From outside by its cancel token, which decides alone. From inside (an operator, an action) also by its id:
    `action` says which action holds it; without it every action that can be cancelled looks for it.
    """

    EVENT_TYPE: ClassVar[str] = EventType.CancelRequestEvent
    OMITTED: ClassVar[frozenset[str]] = frozenset({"request_id", "action", "token", "reason"})

    request_id: str | None = None
    action: str | None = None
    token: TokenText | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _names_a_request(self) -> Self:
        if self.request_id is None and self.token is None:
            raise ValueError("request_id or token must say what to cancel")
        return self
