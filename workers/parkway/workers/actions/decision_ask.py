"""What a source of decisions is asked, and what it gives back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic_ai.usage import RequestUsage

from parkway.schemas.decision_answers import Answer, AnswerError, check_answers
from parkway.schemas.decision_questions import Question
from parkway.schemas.errors import ErrorType
from parkway.workers.actions.backends import CallFailedError
from parkway.workers.actions.providers import CallError


@dataclass(frozen=True, slots=True)
class Ask:
    """One decision: named questions about a state. Nothing else of the request reaches a source."""

    state: Any
    questions: Mapping[str, Question]


@dataclass(frozen=True, slots=True)
class Decided:
    """What a source answered. `refused` are the questions that it would not: then the decision fails, in part.

    `model` is the provider's own name of the model; `usage` is None where tokens are not counted.
    """

    answers: Mapping[str, Answer]
    model: str
    usage: RequestUsage | None = None
    refused: tuple[str, ...] = ()


class Source(Protocol):
    """Rules, a function, or a provider's model."""

    label: str

    async def decide(self, ask: Ask) -> Decided:
        """Ask once. Raises CallFailedError. What it gives fits the questions (`checked`)."""
        ...


def checked(label: str, ask: Ask, decided: Decided) -> Decided:
    """The same, once every question that was not refused has an answer that fits. Raises CallFailedError."""
    answered = {name: question for name, question in ask.questions.items() if name not in decided.refused}
    try:
        check_answers(answered, decided.answers)
    except AnswerError as error:
        raise failed(ErrorType.OUTPUT_INVALID, f"model {label!r} gave an answer that cannot be used: {error}") from None
    return decided


def failed(kind: ErrorType, message: str) -> CallFailedError:
    """An error that will not pass: no retry, but the next source is asked."""
    return CallFailedError(CallError(kind, message))
