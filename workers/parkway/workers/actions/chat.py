"""The chat action: asks a model, parks the conversation while tools run, ends in exactly one response."""

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, ModelResponse, ToolCallPart

from parkway.agents.chat_model import ChatModel
from parkway.agents.errors import did_you_mean
from parkway.agents.retry import Retry
from parkway.runtime import metrics
from parkway.schemas import jsonio
from parkway.schemas.errors import ErrorType
from parkway.schemas.events import (
    ChatRequestEvent,
    Event,
    EventError,
    ToolRequestEvent,
    ToolResponseEvent,
    ToolResult,
)
from parkway.schemas.json_form import json_form
from parkway.schemas.messages import FunctionCall, ToolCall
from parkway.workers.actions import chat_answers, conversation
from parkway.workers.actions.backends import Backends, CallFailedError
from parkway.workers.actions.chat_answers import ChatError
from parkway.workers.actions.chat_state import ChatState, PendingCall
from parkway.workers.actions.json_schema import SchemaError
from parkway.workers.actions.prompts import render
from parkway.workers.actions.structured_output import OutputInvalidError, read_output
from parkway.workers.actions.usage import Tally
from parkway.workers.effects import Effects, Park, ParkedTooLargeError, PoisonError, Task
from parkway.workers.limiter import Limiter, Permit

BACKOFF: Final = Retry(backoff=0.5, max_backoff=30.0)
MAX_STATE_BYTES: Final = 900_000


@dataclass(slots=True)
class _Session:
    """One chat request while it is worked on: what it asks for, and the conversation since."""

    request: ChatRequestEvent
    chat: ChatModel
    backends: Backends
    state: ChatState
    asked: list[ModelMessage]  # the request's own messages
    since: list[ModelMessage] = field(default_factory=list)
    permit: Permit | None = None  # for the first call

    async def ask(self) -> ModelResponse:
        """Get the model's next reply and add it to the conversation. Raises CallFailedError."""
        permit, self.permit = self.permit, None
        self.state.model, reply = await self.backends.ask(
            [*self.asked, *self.since],
            output_schema=self.request.output_schema,
            tally=self.state.tally,
            first=self.state.model,
            deadline=self.state.deadline,
            permit=permit,
        )
        reply = conversation.with_unique_call_ids(reply)
        self.since.append(reply)
        return reply


class ChatAction:
    """Answers chat requests with the agent's chat models (DESIGN 7.3).

    `backoff` says how long it waits between two calls of one model; a provider's Retry-After counts when it
    is longer, up to `backoff.max_backoff`, beyond which the next model is asked at once. `limiters` are those
    of the models that have one: a request starts with a permit for its first call. A conversation is
    parked only up to `max_state_bytes`, measured with its request. What providers say in their errors stands
    in failed responses only with `capture_content`. One instance per event loop.
    """

    def __init__(
        self,
        models: Mapping[str, ChatModel],
        name: str = "chat",
        *,
        limiters: Mapping[str, Limiter] | None = None,
        capture_content: bool = False,
        max_state_bytes: int = MAX_STATE_BYTES,
        backoff: Retry = BACKOFF,
    ) -> None:
        self.name = name
        self._models = dict(models)
        self._limiters = dict(limiters or {})
        self._backends = {
            key: Backends(chat, backoff=backoff, quote=capture_content, limiter=self._limiters.get(key))
            for key, chat in models.items()
        }
        self._capture_content = capture_content
        self._max_state_bytes = max_state_bytes

    def limiter(self, task: Task) -> Limiter | None:
        """The limits of the model that the request names."""
        attributes = chat_answers.request_of(task).get("attributes")
        model = attributes.get("model") if isinstance(attributes, dict) else None
        return self._limiters.get(model) if isinstance(model, str) else None

    async def handle(self, task: Task) -> Effects:
        """Answer, park, or give the failed response. Raises nothing but CancelledError."""
        tally = Tally()
        try:
            state = self._state(task)
            tally = state.tally
            return await self._before_deadline(task, self._session(task, state))
        except ChatError as error:
            return self._failed(task, error.kind, str(error), tally)
        except CallFailedError as error:
            return self._failed(task, error.error.type, error.error.message, tally)
        except Exception as error:
            return self._internal(task, error, tally)

    def expired(self, task: Task) -> Effects:
        message = _late(task.deadline)
        if task.held_up_by is not None:
            message += f": it waited for the limits of {task.held_up_by}"
        return self._failed(task, ErrorType.DEADLINE_EXCEEDED, message, _tally(task))

    def cancelled(self, task: Task, reason: str | None) -> Effects:
        message = "the request was cancelled" + (f": {reason}" if reason else "")
        return self._failed(task, ErrorType.CANCELLED, message, _tally(task))

    def failed(self, task: Task, error: Exception) -> Effects:
        if isinstance(error, ParkedTooLargeError):
            return self._failed(task, ErrorType.PARKED_TOO_LARGE, str(error), _tally(task))
        if isinstance(error, PoisonError):
            return self._failed(task, ErrorType.INTERNAL, str(error), _tally(task))
        return self._internal(task, error, _tally(task))

    def _state(self, task: Task) -> ChatState:
        if task.parked is not None:
            state = ChatState.from_json(task.parked.state)
            state.deadline = min(state.deadline, task.deadline)
            return state
        return ChatState(deadline=task.deadline)

    def _session(self, task: Task, state: ChatState) -> _Session:
        """Read the request, and the answers that it waited for. Raises ChatError."""
        request = _read_request(chat_answers.request_of(task))
        chat = self._models.get(request.model)
        if chat is None:
            hint = did_you_mean(request.model, self._models) or f"; there are: {', '.join(self._models) or 'none'}"
            raise ChatError(ErrorType.UNKNOWN_MODEL, f"no chat model is called {request.model!r}{hint}")
        if task.parked is None:
            state.deadline = min(state.deadline, int((time.time() + chat.deadline) * 1000))
        session = _Session(request, chat, self._backends[request.model], state, _asked(request), permit=task.permit)
        if task.parked is not None:
            session.since = [*conversation.load(state.conversation), _tool_results(task, state.calls)]
        return session

    async def _before_deadline(self, task: Task, session: _Session) -> Effects:
        seconds_left = session.state.deadline / 1000 - time.time()
        if seconds_left <= 0:
            raise ChatError(ErrorType.DEADLINE_EXCEEDED, _late(session.state.deadline))
        limit = asyncio.timeout(seconds_left)
        try:
            async with limit:
                return await self._converse(task, session)
        except TimeoutError:
            if limit.expired():
                raise ChatError(ErrorType.DEADLINE_EXCEEDED, _late(session.state.deadline)) from None
            raise

    async def _converse(self, task: Task, session: _Session) -> Effects:
        while True:
            reply = await session.ask()
            if reply.tool_calls:
                effects = self._tool_round(task, session, reply)
                if effects is not None:
                    return effects
                continue
            text = reply.text or ""
            schema = session.request.output_schema
            if schema is not None:
                try:
                    text = read_output(text, schema)
                except OutputInvalidError as error:
                    self._ask_again(session, error)
                    continue
                except SchemaError as error:
                    raise ChatError(ErrorType.BAD_REQUEST, f"output_schema: {error}") from None
            model_name = reply.model_name or session.state.model or ""
            request = chat_answers.request_of(task)
            return chat_answers.answer(request, text, model_name=model_name, tally=session.state.tally)

    def _tool_round(self, task: Task, session: _Session, reply: ModelResponse) -> Effects | None:
        """Park and send the calls, or None when no call is for a tool that this model has: it is told so."""
        state, limit = session.state, session.chat.max_tool_rounds
        if state.round >= limit:
            message = f"the model asked for tools again after {limit} rounds (max_tool_rounds)"
            raise ChatError(ErrorType.TOOL_ROUNDS_EXCEEDED, message)
        state.round += 1
        state.calls, requested = _calls_of(session.chat, reply)
        if not requested:
            session.since.append(_results(state.calls, {}))
            return None
        state.conversation = conversation.dump(session.since)
        parked = state.to_json()
        size = len(jsonio.dumps(parked)) + len(jsonio.dumps(chat_answers.request_of(task)))
        if size > self._max_state_bytes:
            message = f"the conversation has grown to {size:,} bytes, the limit is {self._max_state_bytes:,}"
            raise ChatError(ErrorType.PARKED_TOO_LARGE, message)
        request = ToolRequestEvent(model=session.request.model, tool_calls=requested)
        park = Park(
            waits_for=request.id,
            pending_calls=tuple(call.id for call in requested),
            state=parked,
            round=state.round,
            deadline=state.deadline,
        )
        return Effects(events=[request], park=park)

    def _ask_again(self, session: _Session, problem: OutputInvalidError) -> None:
        """Tell the model what is wrong with its output. Raises ChatError after `max_retries` times."""
        state = session.state
        if state.output_retries >= session.chat.max_retries:
            quoted = f": {problem}" if self._capture_content else ""
            message = f"the reply does not fit output_schema after {state.output_retries} retries{quoted}"
            raise ChatError(ErrorType.OUTPUT_INVALID, message)
        state.output_retries += 1
        state.tally.retries += 1
        metrics.MODEL_RETRIES.labels(state.model or "").inc()
        text = f"Your answer cannot be used: {problem}. Answer again with nothing but JSON that fits the schema."
        session.since.append(conversation.user_message(text))

    def _internal(self, task: Task, error: Exception, tally: Tally) -> Effects:
        text = f"{type(error).__name__}: {error}" if self._capture_content else type(error).__name__
        return self._failed(task, ErrorType.INTERNAL, f"action {self.name!r} failed: {text}", tally)

    def _failed(self, task: Task, kind: ErrorType, message: str, tally: Tally) -> Effects:
        return chat_answers.failure(chat_answers.request_of(task), kind, message, tally)


def _read_request(event: Mapping[str, Any]) -> ChatRequestEvent:
    try:
        request = Event.parse(event)
    except EventError as error:
        raise ChatError(ErrorType.BAD_REQUEST, str(error)) from None
    if not isinstance(request, ChatRequestEvent):
        raise ChatError(ErrorType.BAD_REQUEST, f"a {request.type} is not a chat request")
    if request.output_schema is not None and not isinstance(request.output_schema, dict):
        raise ChatError(ErrorType.BAD_REQUEST, "output_schema: expected a JSON schema, which is an object")
    if not request.messages:
        raise ChatError(ErrorType.BAD_REQUEST, "messages is empty: a chat begins with at least one message")
    return request


def _asked(request: ChatRequestEvent) -> list[ModelMessage]:
    messages = request.messages
    if request.prompt_args:
        arguments = request.prompt_args
        messages = [message.model_copy(update={"content": render(message.content, arguments)}) for message in messages]
    return conversation.from_chat_messages(messages)


def _calls_of(chat: ChatModel, reply: ModelResponse) -> tuple[list[PendingCall], list[ToolCall]]:
    """Give every call of a reply an id of ours, and take those that can be requested.

    The tool action runs any tool of the agent, so a call that this model was never offered stops here.
    """
    offered = {tool.name for tool in chat.tools}
    pending: list[PendingCall] = []
    requested: list[ToolCall] = []
    for part in reply.tool_calls:
        call_id, answer = str(uuid.uuid4()), None
        if part.tool_name not in offered:
            answer = f"Tool `{part.tool_name}` does not exist."
        else:
            try:
                requested.append(_tool_call(part, call_id))
            except ValueError as error:
                answer = f"Tool `{part.tool_name}` execute failed. {error}"
        pending.append(PendingCall(id=call_id, provider_id=part.tool_call_id, tool=part.tool_name, answer=answer))
    return pending, requested


def _tool_call(part: ToolCallPart, call_id: str) -> ToolCall:
    """Raises ValueError, with text for the model, for arguments that no event can carry."""
    try:
        arguments = part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        raise ValueError("The arguments are not a JSON object.") from None
    function = FunctionCall(name=part.tool_name, arguments=json_form(arguments, "arguments"))
    return ToolCall(id=call_id, function=function, original_id=part.tool_call_id)


def _tool_results(task: Task, calls: Sequence[PendingCall]) -> ModelRequest:
    response = Event.parse(task.event)
    if not isinstance(response, ToolResponseEvent):
        raise TypeError(f"a parked chat is resumed by a tool response, not by a {response.type}")
    return _results(calls, response.results())


def _results(calls: Sequence[PendingCall], results: Mapping[str, ToolResult]) -> ModelRequest:
    """What the model is shown of its calls, in its own order; of one without a result, that it has none."""
    parts: list[ModelRequestPart] = []
    for call in calls:
        result = results.get(call.id)
        success = result is not None and result.success
        value: Any = call.answer or f"Tool `{call.tool}` gave no result."
        if result is not None:
            value = result.value if result.success else result.error
        parts.append(conversation.tool_result(call.tool, call.provider_id, value, success=success))
    return ModelRequest(parts=parts)


def _late(deadline: int) -> str:
    return f"no answer before the deadline ({deadline} ms since 1970)"


def _tally(task: Task) -> Tally:
    try:
        return Tally() if task.parked is None else ChatState.from_json(task.parked.state).tally
    except ValueError:
        return Tally()
