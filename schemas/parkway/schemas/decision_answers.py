"""The answers of a decision, typed, and whether they fit their questions (DESIGN 7.6).

A probability that nobody knows is None: a rule's or a function's answer has none, and none is made up for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, ClassVar, Final

from parkway.schemas.decision_questions import Choice, Json, Noul, Question, Score
from parkway.schemas.json_form import short

# Some hosts round to two decimals (half a unit each), others send what float32 arithmetic leaves.
_FLOAT_ERROR: Final = 1e-6
_ROUNDING: Final = 0.005
_WORD: Final = {"noul": "a yes/no answer", "choice": "a choice", "score": "a score"}


class AnswerError(ValueError):
    """An answer that does not fit its question, or cannot be read as what was asked for."""


class Answer:
    """Base of `NoulAnswer`, `ChoiceAnswer` and `ScoreAnswer`: there are no others."""

    __slots__ = ()

    KIND: ClassVar[str]

    def __json_form__(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class NoulAnswer(Answer):
    """Yes or no. `noul` is the probability of yes, None when nobody knows it: then `value` says which.

    `rule` names the row of a decision table that gave it.
    """

    KIND: ClassVar[str] = "noul"

    noul: float | None = None
    value: bool | None = None
    rule: str | None = None

    def yes(self, at: float) -> bool:
        """Is it a yes, at a probability of at least `at`? A rule's answer is what it says: it has no probability.

        Which `at` is right depends on the model and on what a wrong yes costs: find it with labelled data.
        """
        if self.noul is not None:
            return self.noul >= at
        return self.value is True

    def __json_form__(self) -> dict[str, Any]:
        return {"type": "noul", "noul": self.noul, **_given(value=self.value, rule=self.rule)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceAnswer(Answer):
    """The option that was chosen, with what is known of the others. `confidence` is the provider's own measure."""

    KIND: ClassVar[str] = "choice"

    choice: str
    confidence: float | None = None
    probabilities: Mapping[str, float] | None = None
    rule: str | None = None

    @property
    def probability(self) -> float | None:
        """The probability of `choice`, None when nobody knows it."""
        return None if self.probabilities is None else self.probabilities[self.choice]

    def __json_form__(self) -> dict[str, Any]:
        return {
            "type": "choice",
            "choice": self.choice,
            "confidence": self.confidence,
            "probabilities": self.probabilities,
            **_given(rule=self.rule),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreAnswer(Answer):
    """The expected level, from 0 on; it may lie between two. `probabilities` are by level: "0", "1" ..."""

    KIND: ClassVar[str] = "score"

    score: float
    confidence: float | None = None
    probabilities: Mapping[str, float] | None = None
    legend: Mapping[str, Json] | None = None
    rule: str | None = None

    def __json_form__(self) -> dict[str, Any]:
        return {
            "type": "score",
            "score": self.score,
            "confidence": self.confidence,
            "probabilities": self.probabilities,
            **_given(legend=self.legend, rule=self.rule),
        }


_ANSWERS: Final[dict[str, type[NoulAnswer | ChoiceAnswer | ScoreAnswer]]] = {
    each.KIND: each for each in (NoulAnswer, ChoiceAnswer, ScoreAnswer)
}
_FITTING: Final[dict[type[Question], type[Answer]]] = {Noul: NoulAnswer, Choice: ChoiceAnswer, Score: ScoreAnswer}


def read_answer(wire: Mapping[str, Any]) -> Answer:
    """One answer of a response; members that are not known are ignored. Raises AnswerError."""
    kind = _ANSWERS.get(str(wire.get("type")))
    if kind is None:
        raise AnswerError(f"type {short(wire.get('type'))}: one of {', '.join(_ANSWERS)}")
    known = {each.name: wire[each.name] for each in fields(kind) if each.name in wire}
    try:
        return kind(**known)
    except TypeError:
        raise AnswerError(f"{_WORD[kind.KIND]} without its member {kind.KIND!r}") from None


def check_answers(questions: Mapping[str, Question], answers: Mapping[str, Answer]) -> None:
    """Every question has its answer and there is no other, and each fits. Raises AnswerError that says which does not.

    What the answers say stands in no message: it may be content.
    """
    missing = [name for name in questions if name not in answers]
    if missing:
        raise AnswerError(f"no answer to {', '.join(map(repr, missing))}")
    extra = [name for name in answers if name not in questions]
    if extra:
        raise AnswerError(f"{len(extra)} answers to what nobody asked")
    for name, question in questions.items():
        check_answer(name, question, answers[name])


def check_answer(name: str, question: Question, answer: Answer) -> None:
    """Raises AnswerError that names the question."""
    wanted = _FITTING[type(question)]
    if not isinstance(answer, wanted):
        raise AnswerError(f"question {name!r} asks for {_WORD[wanted.KIND]}, and got {type(answer).__name__}")
    reason = _why_not(question, answer)
    if reason is not None:
        raise AnswerError(f"answer to {name!r}: {reason}")


def _why_not(question: Question, answer: Answer) -> str | None:
    match question, answer:
        case Noul(), NoulAnswer():
            return _noul_misfit(answer)
        case Choice(), ChoiceAnswer():
            if answer.choice not in question.options:
                return "the choice is none of the options"
            return _distribution_misfit(answer, set(question.options), "options")
        case Score(), ScoreAnswer():
            highest = len(question.levels) - 1
            if not _within(answer.score, highest):
                return f"the score is not between 0 and {highest}"
            return _distribution_misfit(answer, {str(level) for level in range(highest + 1)}, "levels")
    return "it is of another kind"


def _noul_misfit(answer: NoulAnswer) -> str | None:
    if answer.noul is None:
        return None if isinstance(answer.value, bool) else "neither a probability nor a value"
    return None if _within(answer.noul, 1) else "the probability is not between 0 and 1"


def _distribution_misfit(answer: ChoiceAnswer | ScoreAnswer, keys: set[str], word: str) -> str | None:
    if answer.confidence is not None and not _within(answer.confidence, 1):
        return "the confidence is not between 0 and 1"
    if answer.probabilities is None:
        return None
    if set(answer.probabilities) != keys:
        return f"the probabilities are not those of the {word}"
    values = list(answer.probabilities.values())
    if not all(_within(value, 1) for value in values):
        return "a probability is not between 0 and 1"
    if abs(sum(values) - 1) > _FLOAT_ERROR + _ROUNDING * len(values):
        return "the probabilities do not sum to 1"
    return None


def _within(value: object, highest: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and 0 <= value <= highest


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
