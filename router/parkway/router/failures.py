"""Failed responses that the router gives itself, to requests that it refuses (DESIGN 3 and 6)."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from parkway.schemas.errors import ErrorType
from parkway.schemas.event_types import EventType


def failed_response(request: Mapping[str, Any], error: ErrorType, message: str) -> dict[str, Any] | None:
    """The failed response event (its JSON form) to a request event; None where the kind has none (retrieval).

    `user_context` is echoed when the request carries one.
    """
    attributes = request.get("attributes") or {}
    event_type = request["type"]
    failure = {"type": str(error), "message": message, "attempts": 0}
    body: dict[str, Any]
    if event_type == EventType.ChatRequestEvent:
        response_type = EventType.ChatResponseEvent
        body = {"response": None, "success": False, "error": failure}
        body |= {"retry_count": 0, "total_retry_wait_sec": 0.0}
    elif event_type == EventType.DecisionRequestEvent:
        response_type = EventType.DecisionResponseEvent
        body = {"model": attributes.get("model"), "success": False, "answers": {}, "error": failure}
        body |= {"usage": None, "retry_count": 0, "total_retry_wait_sec": 0.0}
    elif event_type == EventType.ToolRequestEvent:
        response_type = EventType.ToolResponseEvent
        calls = _call_ids(attributes.get("tool_calls"))
        body = {
            "responses": dict.fromkeys(calls, message),
            "success": dict.fromkeys(calls, False),
            "error": dict.fromkeys(calls, message),
            "external_ids": dict.fromkeys(calls),
        }
    else:
        return None
    body = {"request_id": request["id"], **body}
    if attributes.get("user_context") is not None:
        body["user_context"] = attributes["user_context"]
    return {
        "id": str(uuid4()),
        "type": response_type,
        "attributes": body,
        "upstreamEventId": request["id"],
    }


def _call_ids(calls: Any) -> list[str]:
    """The ids that can be answered; nobody has checked the request's attributes."""
    found = [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [call_id for call_id in found if isinstance(call_id, str)]
