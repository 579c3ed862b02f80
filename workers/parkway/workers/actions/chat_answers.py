"""The terminal responses of a chat request."""

from collections.abc import Mapping
from typing import Any

from parkway.schemas.errors import ErrorType
from parkway.schemas.events import ChatResponseEvent, ErrorInfo
from parkway.schemas.messages import ChatMessage
from parkway.workers.actions.usage import Tally
from parkway.workers.effects import Effects, Task


class ChatError(Exception):
    """What ends a chat request without an answer."""

    def __init__(self, kind: ErrorType, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def request_of(task: Task) -> Mapping[str, Any]:
    """The chat request behind a task, in its JSON form: the parked one when the task resumes it."""
    return task.event if task.parked is None else task.parked.request


def answer(
    request: Mapping[str, Any], text: str, *, chat_model: str, model_name: str, tally: Tally, **more: str
) -> Effects:
    """The answer, with `user_context` as the request brought it.

    `chat_model` is the name of the agent's model that answered, `model_name` the provider's.
    """
    told = {"model": chat_model, "model_name": model_name, **tally.tokens(), **more}
    message = ChatMessage(role="assistant", content=text, extra_args=told)
    return _respond(request, tally, response=message, success=True, error=None)


def failure(request: Mapping[str, Any], kind: ErrorType, message: str, tally: Tally) -> Effects:
    """The failed response, for a request whose attributes may be anything."""
    error = ErrorInfo(type=kind, message=message, attempts=tally.calls, usage=tally.tokens())
    return _respond(request, tally, response=None, success=False, error=error)


def _respond(request: Mapping[str, Any], tally: Tally, **outcome: Any) -> Effects:
    attributes = request.get("attributes")
    context = attributes.get("user_context") if isinstance(attributes, Mapping) else None
    echoed = {"user_context": context} if isinstance(context, dict) else {}
    response = ChatResponseEvent(
        request_id=str(request["id"]),
        retry_count=tally.retries,
        total_retry_wait_sec=round(tally.waited, 3),
        **outcome,
        **echoed,
    )
    return Effects(response=response)
