"""The decision action: asks a decision model, and ends in exactly one response. It parks nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from parkway.agents.decision_model import DecisionModel
from parkway.agents.errors import did_you_mean
from parkway.agents.retry import Retry
from parkway.schemas.decision_answers import Answer
from parkway.schemas.decision_questions import QuestionError, read_questions
from parkway.schemas.errors import ErrorType
from parkway.schemas.events import DecisionRequestEvent, DecisionResponseEvent, ErrorInfo, Event, EventError
from parkway.schemas.json_form import short
from parkway.workers.actions.backends import CallFailedError
from parkway.workers.actions.decision_ask import Ask, Decided
from parkway.workers.actions.decision_backends import DecisionBackends
from parkway.workers.actions.opening import Opening
from parkway.workers.actions.usage import Tally
from parkway.workers.effects import Effects, JournalEntry, PoisonError, Task
from parkway.workers.limiter import Limiter
from parkway.workers.times import now

BACKOFF: Final = Retry(backoff=0.5, max_backoff=30.0)


class _DecisionError(Exception):
    """What ends a request without an answer."""

    def __init__(self, kind: ErrorType, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A request that can be worked on. `deadline` is in ms since 1970."""

    ask: Ask
    backends: DecisionBackends
    deadline: int


class DecisionAction:
    """Answers decision requests with the agent's decision models (DESIGN 7.6).

    Nothing but the request's state and questions reaches a model. An error is a failed response, never an answer;
    where a provider refuses some questions, the failed response holds the answers to the others beside its `error`,
    whose `questions` names those without one. `backoff`, `limiters` and `capture_content` are as ChatAction's.

    A cancellation ends a request that is queued or running (`cancelled`). One instance per event loop.
    """

    def __init__(
        self,
        models: Mapping[str, DecisionModel],
        name: str = "decision",
        *,
        limiters: Mapping[str, Limiter] | None = None,
        capture_content: bool = False,
        backoff: Retry = BACKOFF,
    ) -> None:
        self.name = name
        self._models = dict(models)
        self._limiters = dict(limiters or {})
        self._backends = {
            key: DecisionBackends(key, model, backoff=backoff, quote=capture_content, limiter=self._limiters.get(key))
            for key, model in models.items()
        }
        self._capture_content = capture_content

    async def open(self) -> dict[str, list[Opening]]:
        """Make every provider's model before it is asked, and say which cannot be."""
        return {name: await backends.open() for name, backends in self._backends.items()}

    def limiter(self, task: Task) -> Limiter | None:
        """The limits of the model that the request names."""
        model = _attributes(task).get("model")
        return self._limiters.get(model) if isinstance(model, str) else None

    async def handle(self, task: Task) -> Effects:
        """Answer, or give the failed response. Raises nothing but CancelledError."""
        tally = Tally()
        journal: list[JournalEntry] = []
        try:
            effects = await self._decide(task, tally, journal)
        except _DecisionError as error:
            effects = _failed(task, error.kind, str(error), tally)
        except CallFailedError as error:
            effects = _failed(task, error.error.type, error.error.message, tally)
        except Exception as error:
            effects = self._internal(task, error, tally)
        effects.journal = journal
        return effects

    def expired(self, task: Task) -> Effects:
        message = _late(task.deadline)
        if task.held_up_by is not None:
            message += f": it waited for the limits of {task.held_up_by}"
        return _failed(task, ErrorType.DEADLINE_EXCEEDED, message, Tally())

    def cancelled(self, task: Task, reason: str | None) -> Effects:
        message = "the request was cancelled" + (f": {reason}" if reason else "")
        return _failed(task, ErrorType.CANCELLED, message, Tally())

    def failed(self, task: Task, error: Exception) -> Effects:
        if isinstance(error, PoisonError):
            return _failed(task, ErrorType.INTERNAL, str(error), Tally())
        return self._internal(task, error, Tally())

    async def _decide(self, task: Task, tally: Tally, journal: list[JournalEntry]) -> Effects:
        wanted = self._read(task)
        seconds_left = wanted.deadline / 1000 - now()
        if seconds_left <= 0:
            raise _DecisionError(ErrorType.DEADLINE_EXCEEDED, _late(wanted.deadline))
        limit = asyncio.timeout(seconds_left)
        try:
            async with limit:
                decided = await wanted.backends.ask(
                    wanted.ask, tally=tally, journal=journal, deadline=wanted.deadline, permit=task.permit
                )
        except TimeoutError:
            if limit.expired():
                raise _DecisionError(ErrorType.DEADLINE_EXCEEDED, _late(wanted.deadline)) from None
            raise
        return _answered(task, decided, tally)

    def _read(self, task: Task) -> _Wanted:
        """Raises _DecisionError for a request that cannot be read, or names a model that is not there."""
        try:
            request = Event.parse(task.event)
        except EventError as error:
            raise _DecisionError(ErrorType.BAD_REQUEST, str(error)) from None
        if not isinstance(request, DecisionRequestEvent):
            raise _DecisionError(ErrorType.BAD_REQUEST, f"a {request.type} is not a decision request")
        model = self._models.get(request.model)
        if model is None:
            hint = did_you_mean(request.model, self._models) or f"; there are: {', '.join(self._models) or 'none'}"
            raise _DecisionError(ErrorType.UNKNOWN_MODEL, f"no decision model is called {short(request.model)}{hint}")
        try:
            questions = {**model.questions, **read_questions(request.questions)}
        except QuestionError as error:
            raise _DecisionError(ErrorType.BAD_REQUEST, str(error)) from None
        if not questions:
            message = f"no questions: neither the request nor the decision model {request.model!r} has any"
            raise _DecisionError(ErrorType.BAD_REQUEST, message)
        deadline = min(task.deadline, int((now() + model.deadline) * 1000))
        return _Wanted(Ask(request.state, questions), self._backends[request.model], deadline)

    def _internal(self, task: Task, error: Exception, tally: Tally) -> Effects:
        text = f"{type(error).__name__}: {error}" if self._capture_content else type(error).__name__
        return _failed(task, ErrorType.INTERNAL, f"action {self.name!r} failed: {text}", tally)


def _answered(task: Task, decided: Decided, tally: Tally) -> Effects:
    usage: dict[str, Any] = {"model_name": decided.model}
    if decided.usage is not None or tally.tokens_used:
        usage |= tally.tokens()
    if not decided.refused:
        return _respond(task, tally, answers=decided.answers, success=True, usage=usage)
    message = f"model {decided.model!r} refused to answer {', '.join(map(repr, decided.refused))}"
    error = _error(ErrorType.REFUSED, message, tally, decided.refused)
    return _respond(task, tally, answers=decided.answers, success=False, error=error, usage=usage)


def _failed(task: Task, kind: ErrorType, message: str, tally: Tally) -> Effects:
    """The failed response, for a request whose attributes may be anything."""
    return _respond(task, tally, answers={}, success=False, error=_error(kind, message, tally, ()))


def _error(kind: ErrorType, message: str, tally: Tally, questions: Sequence[str]) -> ErrorInfo:
    return ErrorInfo(
        type=kind, message=message, attempts=tally.calls, usage=tally.tokens(), questions=list(questions) or None
    )


def _respond(
    task: Task,
    tally: Tally,
    *,
    answers: Mapping[str, Answer],
    success: bool,
    error: ErrorInfo | None = None,
    usage: Mapping[str, Any] | None = None,
) -> Effects:
    attributes = _attributes(task)
    model, context = attributes.get("model"), attributes.get("user_context")
    response = DecisionResponseEvent(
        request_id=str(_request(task)["id"]),
        model=model if isinstance(model, str) else "",
        success=success,
        answers=answers,
        error=error,
        usage=usage,
        retry_count=tally.retries,
        total_retry_wait_sec=round(tally.waited, 3),
        **({"user_context": context} if isinstance(context, dict) else {}),
    )
    return Effects(response=response)


def _request(task: Task) -> Mapping[str, Any]:
    return task.event if task.parked is None else task.parked.request


def _attributes(task: Task) -> Mapping[str, Any]:
    attributes = _request(task).get("attributes")
    return attributes if isinstance(attributes, Mapping) else {}


def _late(deadline: int) -> str:
    return f"no answer before the deadline ({deadline} ms since 1970)"
