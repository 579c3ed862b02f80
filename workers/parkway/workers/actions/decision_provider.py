"""Decisions by a provider's model: pydantic-ai's decision models, asked by their `decide`."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_ai import exceptions as ai
from pydantic_ai.models import check_allow_model_requests, infer_model
from pydantic_ai.models import decision as wire
from pydantic_ai.models.decision import DecisionModel as ProviderModel
from pydantic_ai.usage import RequestUsage

from parkway.agents.decision_model import DecisionModel, label_of, model_name
from parkway.agents.threads import run_in_thread
from parkway.schemas.decision_answers import Answer, ChoiceAnswer, NoulAnswer, ScoreAnswer
from parkway.schemas.decision_questions import Choice, Noul, Question, Score
from parkway.schemas.errors import ErrorType
from parkway.workers.actions.backends import CallFailedError
from parkway.workers.actions.decision_ask import Ask, Decided, checked, failed
from parkway.workers.actions.decision_limits import exceeded, limits_of
from parkway.workers.actions.providers import CallError, classify, secrets_of

ProviderSource = str | ProviderModel[Any] | Callable[[], ProviderModel[Any]]

_RETRYABLE_4XX: Final = frozenset({408, 429})
_ASKED_OF_ALL: Final = "Which of these applies?"  # where a host wants instructions and the options say it all


class ProviderCall:
    """One provider's model. It is built once, off the event loop: it imports an SDK and reads keys."""

    def __init__(self, source: ProviderSource, model: DecisionModel, *, quote: bool) -> None:
        self.label = label_of(source)
        self._source = source
        self._options = model
        self._quote = quote
        self._model: ProviderModel[Any] | None = None
        self._building = asyncio.Lock()

    async def decide(self, ask: Ask) -> Decided:
        model = await self._model_to_ask()
        problem = exceeded(limits_of(model, self._options.limits), ask)
        if problem is not None:
            raise failed(ErrorType.BAD_REQUEST, f"model {self.label!r}: {problem}")
        request = wire.DecisionRequest(state=ask.state, questions=_questions(model, ask.questions))
        try:
            check_allow_model_requests()
            async with asyncio.timeout(self._options.timeout):
                response = await model.decide(request, self._settings(model))
        except ai.ContentFilterError as error:
            return self._refused(ask, error)
        except ai.UnexpectedModelBehavior as error:
            message = f"model {self.label!r} gave an answer that cannot be used"
            text = f"{message}: {error.message}" if self._quote else message
            raise failed(ErrorType.OUTPUT_INVALID, text) from error
        except Exception as error:  # adapters raise what their SDK lets through
            raise CallFailedError(self._classified(error, model)) from error
        answers = {name: _answer(answer) for name, answer in response.answers.items()}
        return checked(self.label, ask, Decided(answers, response.model_name, response.usage))

    async def opened(self) -> ProviderModel[Any]:
        """The pydantic-ai model. Raises what its provider raises for a missing key or package."""
        async with self._building:
            if self._model is None:
                try:
                    self._model = await run_in_thread(_build, self._source)
                except ImportError as error:
                    raise ImportError(_our_extra(error)) from error
            return self._model

    async def _model_to_ask(self) -> ProviderModel[Any]:
        try:
            return await self.opened()
        except ImportError as error:
            raise failed(ErrorType.PROVIDER_ERROR, f"model {self.label!r}: {error}") from error
        except Exception as error:  # a factory is the user's code
            # What a provider says about its configuration holds no event content, and names the way out.
            raise CallFailedError(classify(error, self.label, quote=True)) from error

    def _settings(self, model: ProviderModel[Any]) -> wire.DecisionModelSettings:
        """The SDK makes one attempt: we retry."""
        ours = {"timeout": self._options.timeout, **self._options.settings, "max_retries": 0}
        known = {name: value for name, value in ours.items() if name not in model.unsupported_settings}
        return cast("wire.DecisionModelSettings", known)

    def _classified(self, error: Exception, model: ProviderModel[Any]) -> CallError:
        key = getattr(model.provider, "api_key", None)
        secrets = (*secrets_of(model), *([key] if isinstance(key, str) and key else []))
        found = classify(error, self.label, quote=self._quote, secrets=secrets)
        status = error.status_code if isinstance(error, ai.ModelHTTPError) else None
        if status is not None and 400 <= status < 500 and status not in _RETRYABLE_4XX:
            # Whatever the host thinks of its own 409 or 422: the same questions are as wrong the second time.
            return CallError(found.type, found.message, retryable=False, final=found.final)
        return found

    def _refused(self, ask: Ask, error: ai.ContentFilterError) -> Decided:
        """The answers beside the refusals. pydantic-ai raises them away, so they are read from the body it keeps."""
        try:
            body = _OpenAiBody.model_validate_json(error.body or "")
        except ValidationError:
            message = f"model {self.label!r} refused to answer (content filter)"
            raise CallFailedError(CallError(ErrorType.REFUSED, message, final=True)) from error
        answers: dict[str, Answer] = {}
        for each in body.answers:
            if each.type != "refusal" and each.name in ask.questions:
                answers[each.name] = each.read()
        refused = tuple(name for name in ask.questions if name not in answers)
        usage = RequestUsage(input_tokens=body.usage.input_tokens, output_tokens=body.usage.output_tokens)
        return checked(self.label, ask, Decided(answers, body.model, usage, refused))


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Probability(_Lenient):
    value: str | int
    probability: float
    label: str | None = None


class _OpenAiAnswer(_Lenient):
    """An answer of POST /v1/decisions: a predicate, a choice, a score, or a refusal."""

    type: str
    name: str
    probability: float | None = None
    choice: str | None = None
    score: float | None = None
    confidence: float | None = None
    probabilities: list[_Probability] | None = None

    def read(self) -> Answer:
        """What is missing is found when the answer is checked against its question."""
        known = {str(each.value): each.probability for each in self.probabilities or []}
        if self.type == "choice":
            return ChoiceAnswer(choice=self.choice or "", confidence=self.confidence, probabilities=known)
        if self.type == "score":
            legend = {str(each.value): each.label for each in self.probabilities or []}
            score = self.score if self.score is not None else -1.0
            return ScoreAnswer(score=score, confidence=self.confidence, probabilities=known, legend=legend)
        return NoulAnswer(noul=self.probability)


class _OpenAiUsage(_Lenient):
    input_tokens: int = 0
    output_tokens: int = 0


class _OpenAiBody(_Lenient):
    model: str
    answers: list[_OpenAiAnswer]
    usage: _OpenAiUsage = _OpenAiUsage()


def _build(source: ProviderSource) -> ProviderModel[Any]:
    if isinstance(source, ProviderModel):
        return source
    model = infer_model(model_name(source)) if isinstance(source, str) else source()
    if not isinstance(model, ProviderModel):
        raise TypeError(f"{label_of(source)} gave a {type(model).__name__}, not a pydantic-ai DecisionModel")
    return model


def _our_extra(error: ImportError) -> str:
    """Its text, which names a package to install, with our name of the extra where we have one."""
    return str(error).replace("pydantic-ai-slim[openai]", "parkway[openai]")


def _questions(model: ProviderModel[Any], questions: Mapping[str, Question]) -> dict[str, wire.DecisionQuestion]:
    required = cast("dict[str, Any]", model.profile).get("decision_requires_instructions", model.requires_instructions)
    return {name: _question(question, required=bool(required)) for name, question in questions.items()}


def _question(question: Question, *, required: bool) -> wire.DecisionQuestion:
    instructions = question.instructions
    if instructions is None and required:
        instructions = _ASKED_OF_ALL
    if isinstance(question, Noul):
        described = question.yes is not None or question.no is not None
        criteria = wire.NoulCriteria(true=question.yes, false=question.no) if described else None
        return wire.NoulQuestion(instructions=instructions, criteria=criteria)
    if isinstance(question, Choice):
        return wire.ChoiceQuestion(criteria=dict(question.options), instructions=instructions)
    assert isinstance(question, Score)  # there are no other kinds
    return wire.ScoreQuestion(criteria=list(question.levels), instructions=instructions)


def _answer(answer: wire.DecisionAnswer) -> Answer:
    if isinstance(answer, wire.NoulAnswer):
        return NoulAnswer(noul=answer.noul)
    if isinstance(answer, wire.ChoiceAnswer):
        return ChoiceAnswer(
            choice=answer.choice, confidence=answer.confidence, probabilities=dict(answer.probabilities)
        )
    return ScoreAnswer(
        score=answer.score,
        confidence=answer.confidence,
        probabilities={str(level): probability for level, probability in answer.probabilities.items()},
        legend={str(level): text for level, text in answer.legend.items()} or None,
    )
