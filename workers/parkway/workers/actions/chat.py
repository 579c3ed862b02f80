"""The chat action: asks a model, parks the conversation while tools run, ends in exactly one response."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from pydantic_ai.messages import ModelResponse

from parkway.agents.chat_model import ChatModel
from parkway.agents.mcp_server import MCPServer
from parkway.agents.model_router import ModelRouter
from parkway.agents.prompt import Prompt
from parkway.agents.retry import Retry
from parkway.schemas import jsonio
from parkway.schemas.errors import ErrorType
from parkway.schemas.events import ToolRequestEvent
from parkway.workers.actions import chat_answers, conversation
from parkway.workers.actions.backends import CallFailedError
from parkway.workers.actions.chat_answers import ChatError
from parkway.workers.actions.chat_models import ChatModels
from parkway.workers.actions.chat_session import ChatSession, read_request
from parkway.workers.actions.chat_state import ChatState
from parkway.workers.actions.opening import Opening
from parkway.workers.actions.structured_output import OutputInvalidError
from parkway.workers.actions.tool_round import awaits_person, calls_of, results_for
from parkway.workers.actions.toolbox import ToolSource
from parkway.workers.actions.usage import Tally
from parkway.workers.effects import Effects, JournalEntry, Park, ParkedTooLargeError, PoisonError, Task
from parkway.workers.limiter import Limiter
from parkway.workers.times import now_ms

BACKOFF: Final = Retry(backoff=0.5, max_backoff=30.0)
MAX_STATE_BYTES: Final = 900_000


class ChatAction:
    """Answers chat requests with the agent's chat models (DESIGN 7.3).

    A request names one of `models`, or one of `routers`, which chooses one. `backoff` says how long it waits between
    two calls of one model; a provider's Retry-After counts when it is longer, up to `backoff.max_backoff`, beyond
    which the next model is asked at once. `limiters` are those of the models that have one: a request starts with a
    permit for its first call. A conversation is parked only up to `max_state_bytes`, measured with its request. What
    providers say in their errors stands in failed responses only with `capture_content`. One instance per event loop.
    """

    def __init__(
        self,
        models: Mapping[str, ChatModel[Any]],
        name: str = "chat",
        *,
        routers: Mapping[str, ModelRouter] | None = None,
        prompts: Mapping[str, Prompt] | None = None,
        sources: Mapping[MCPServer, ToolSource] | None = None,
        limiters: Mapping[str, Limiter] | None = None,
        capture_content: bool = False,
        max_state_bytes: int = MAX_STATE_BYTES,
        backoff: Retry = BACKOFF,
    ) -> None:
        self.name = name
        self._models = ChatModels(
            models,
            routers or {},
            prompts or {},
            limiters or {},
            sources or {},
            backoff=backoff,
            quote=capture_content,
        )
        self._backoff = backoff
        self._capture_content = capture_content
        self._max_state_bytes = max_state_bytes

    async def open(self) -> dict[str, list[Opening]]:
        """Make every model and fallback before it is asked, and say which cannot be."""
        return await self._models.open()

    def limiter(self, task: Task) -> Limiter | None:
        """The limits of the model that the request will ask."""
        return self._models.limiter(task)

    async def handle(self, task: Task) -> Effects:
        """Answer, park, or give the failed response. Raises nothing but CancelledError."""
        journal: list[JournalEntry] = []
        effects = await self._handle(task, journal)
        effects.journal = journal
        return effects

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

    async def _handle(self, task: Task, journal: list[JournalEntry]) -> Effects:
        tally = Tally()
        try:
            state = _state(task)
            tally = state.tally
            return await self._before_deadline(task, self._session(task, state, journal))
        except ChatError as error:
            return self._failed(task, error.kind, str(error), tally)
        except CallFailedError as error:
            return self._failed(task, error.error.type, error.error.message, tally)
        except Exception as error:
            return self._internal(task, error, tally)

    def _session(self, task: Task, state: ChatState, journal: list[JournalEntry]) -> ChatSession:
        """Read the request, and the answers that it waited for. Raises ChatError."""
        request = read_request(chat_answers.request_of(task))
        served = self._models.of(task)
        state.chat_model = served.name
        if task.parked is None:
            state.deadline = min(state.deadline, now_ms() + int(served.chat.deadline * 1000))
        return ChatSession.of(task, request, served, state, journal)

    async def _before_deadline(self, task: Task, session: ChatSession) -> Effects:
        seconds_left = (session.state.deadline - now_ms()) / 1000
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

    async def _converse(self, task: Task, session: ChatSession) -> Effects:
        await session.open_tools(self._backoff)
        while True:
            reply = await session.ask()
            if reply.tool_calls:
                effects = self._tool_round(task, session, reply)
                if effects is not None:
                    return effects
                continue
            try:
                text = session.read(reply.text or "")
            except OutputInvalidError as error:
                session.ask_again(error, quote=self._capture_content)
                continue
            return chat_answers.answer(
                chat_answers.request_of(task),
                text,
                chat_model=session.served.name,
                model_name=reply.model_name or session.state.model or "",
                tally=session.state.tally,
                **({"finish_reason": "length"} if reply.finish_reason == "length" else {}),
            )

    def _tool_round(self, task: Task, session: ChatSession, reply: ModelResponse) -> Effects | None:
        """Park and send the calls, or None when no call is for a tool that this model has: it is told so."""
        state, served = session.state, session.served
        if state.round >= served.chat.max_tool_rounds:
            message = f"the model asked for tools again after {served.chat.max_tool_rounds} rounds (max_tool_rounds)"
            raise ChatError(ErrorType.TOOL_ROUNDS_EXCEEDED, message)
        state.round += 1
        state.calls, requested = calls_of(session.tools, reply)
        if not requested:
            session.since.append(results_for(state.calls, {}))
            return None
        state.tally.tool_calls += len(requested)
        served.budget.before_tools(state.tally)
        state.conversation = conversation.dump(session.since)
        parked = state.to_json()
        size = len(jsonio.dumps(parked)) + len(jsonio.dumps(chat_answers.request_of(task)))
        if size > self._max_state_bytes:
            message = f"the conversation has grown to {size:,} bytes, the limit is {self._max_state_bytes:,}"
            raise ChatError(ErrorType.PARKED_TOO_LARGE, message)
        request = ToolRequestEvent(model=served.name, tool_calls=requested)
        park = Park(
            waits_for=request.id,
            pending_calls=tuple(call.id for call in requested),
            state=parked,
            round=state.round,
            deadline=state.deadline,
            awaits_person=awaits_person(session.tools, requested),
        )
        return Effects(events=[request], park=park)

    def _internal(self, task: Task, error: Exception, tally: Tally) -> Effects:
        text = f"{type(error).__name__}: {error}" if self._capture_content else type(error).__name__
        return self._failed(task, ErrorType.INTERNAL, f"action {self.name!r} failed: {text}", tally)

    def _failed(self, task: Task, kind: ErrorType, message: str, tally: Tally) -> Effects:
        return chat_answers.failure(chat_answers.request_of(task), kind, message, tally)


def _state(task: Task) -> ChatState:
    if task.parked is None:
        return ChatState(deadline=task.deadline)
    state = ChatState.from_json(task.parked.state)
    state.deadline = min(state.deadline, task.deadline)
    return state


def _late(deadline: int) -> str:
    return f"no answer before the deadline ({deadline} ms since 1970)"


def _tally(task: Task) -> Tally:
    try:
        return Tally() if task.parked is None else ChatState.from_json(task.parked.state).tally
    except ValueError:
        return Tally()
