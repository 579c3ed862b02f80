"""Named questions about a state, and their answers (DESIGN 7.6)."""

from typing import Any, ClassVar, TypeVar

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from parkway.schemas.chat_events import ErrorInfo
from parkway.schemas.decision_answers import Answer, AnswerError, ChoiceAnswer, NoulAnswer, ScoreAnswer, read_answer
from parkway.schemas.event_types import EventType
from parkway.schemas.typed_event import TypedEvent
from parkway.schemas.user_context import UserContext

A = TypeVar("A", NoulAnswer, ChoiceAnswer, ScoreAnswer)


class DecisionFailedError(RuntimeError):
    """An answer was read of a decision that failed, or that has answers to some questions only; `error` says why."""

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(f"the decision failed: {error.type}: {error.message}")
        self.error = error


class DecisionRequestEvent(TypedEvent):
    """Asks the decision model `model` about `state`.

    `questions` are typed (`{"spam": Noul("Is it spam?")}`) or in their wire form
    `{type: noul|choice|score, instructions?, criteria?}`; none: those that the model declares.
    """

    EVENT_TYPE: ClassVar[str] = EventType.DecisionRequestEvent

    model: str
    state: Any
    questions: dict[str, dict[str, Any]] = Field(default_factory=dict)
    user_context: UserContext = None


class DecisionResponseEvent(TypedEvent):
    """Answers by question name. A failed one may hold some beside its `error`, never invented ones.

    `noul`, `choice` and `score` read an answer, typed. They raise for a response that is no success; `answers` is
    there in any case.
    """

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

    def noul(self, name: str, *, partial: bool = False) -> NoulAnswer:
        """The answer to a yes/no question: `event.noul("spam").yes(at=0.9)`.

        Raises DecisionFailedError when the decision failed (with `partial`: when this question has no answer),
        AnswerError when there is no such answer or it is of another kind.
        """
        return self._read_as(NoulAnswer, name, partial=partial)

    def choice(self, name: str, *, partial: bool = False) -> ChoiceAnswer:
        """The answer to a choice: `event.choice("queue").choice`. Raises as `noul` does."""
        return self._read_as(ChoiceAnswer, name, partial=partial)

    def score(self, name: str, *, partial: bool = False) -> ScoreAnswer:
        """The answer to a score: `event.score("anger").score`. Raises as `noul` does."""
        return self._read_as(ScoreAnswer, name, partial=partial)

    def _read_as(self, kind: type[A], name: str, *, partial: bool) -> A:
        if not self.success and not (partial and name in self.answers):
            raise DecisionFailedError(self.error or ErrorInfo(type="internal", message="no reason was given"))
        if name not in self.answers:
            raise AnswerError(f"no answer {name!r}; there are: {', '.join(self.answers) or 'none'}")
        try:
            answer: Answer = read_answer(self.answers[name])
        except AnswerError as error:
            raise AnswerError(f"answer {name!r}: {error}") from None
        if not isinstance(answer, kind):
            raise AnswerError(f"answer {name!r} is a {answer.KIND}: read it with event.{answer.KIND}({name!r})")
        return answer
