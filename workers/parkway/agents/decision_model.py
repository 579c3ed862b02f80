"""`DecisionModel`: the resource that answers decision requests: a provider's model, a table of rules, or a function."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic_ai.models import Model
from pydantic_ai.models.decision import DecisionModel as ProviderModel
from pydantic_ai.settings import ModelSettings

from parkway.agents.decision_rules import Rules
from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.resource import Resource
from parkway.schemas.decision_questions import Question, QuestionError, checked_questions

Answered: TypeAlias = Mapping[str, object]
"""What a function answers by question name: an Answer, or True/False, a probability of yes, an option, a score."""

DecisionFunction: TypeAlias = Callable[..., Answered | Awaitable[Answered]]


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function that decides; `takes_questions`: it has a second parameter for them."""

    function: DecisionFunction
    takes_questions: bool

    @property
    def label(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLimits:
    """What a host takes at most in one request; None: nobody knows, and the host says so itself.

    `options` of a choice, `levels` of a score, `questions` of a request, `bytes` of state and questions as JSON.
    """

    options: int | None = None
    levels: int | None = None
    questions: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("options", "levels", "questions", "bytes"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise AgentError(f"DecisionLimits({name}={value!r}): a whole number from 1 on, or None")


DecisionSource: TypeAlias = "str | ProviderModel[Any] | Callable[[], ProviderModel[Any]] | Rules | FunctionSource"

PROVIDERS: Final = ("system_one", "openai_decisions", "google_decisions", "typesafe")


class DecisionModel(Resource):
    """A decision model of an agent; a decision request names it by its attribute in the agent's class.

        judge = DecisionModel(
            "system_one:jev-1.14",
            questions={"spam": Noul("Is this message spam?")},
            fallbacks=["openai_decisions:gpt-6-luna"],
        )

    `model` is a name, a pydantic-ai decision model, or a function without parameters that makes one. Names are
    `system_one:MODEL` (any server of POST /v1/systemone, at SYSTEM_ONE_BASE_URL) and `openai_decisions:MODEL`. For
    rules see DecisionTable, for a function `DecisionModel.of`. `questions` are asked besides those of a request,
    whose own go over them by name.

    `fallbacks` (of the same kinds, or another DecisionModel) are asked in order when `model` fails, but not when it
    refuses. `max_retries` counts the further attempts of each, after errors that may pass: 408, 429, 5xx, no
    connection, no answer within `timeout` (seconds, of one call). `deadline` (seconds) is that of a request without
    one of its own. `limits` add to what is known of the host. `requests_per_minute`, `tokens_per_minute` and
    `concurrency` limit its calls in the **whole installation**, as with ChatModel. Nothing here needs a secret or a
    network. Raises AgentError for values that make no sense.
    """

    def __init__(
        self,
        model: DecisionSource,
        *,
        questions: Mapping[str, Question] | None = None,
        fallbacks: Sequence["DecisionSource | DecisionModel"] = (),
        settings: ModelSettings | None = None,
        limits: DecisionLimits | None = None,
        max_retries: int = 3,
        timeout: float = 30.0,
        deadline: float = 600.0,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        concurrency: int | None = None,
    ) -> None:
        if isinstance(fallbacks, str | DecisionModel):
            raise AgentError(f"DecisionModel(fallbacks={fallbacks!r}): a list, such as [{fallbacks!r}]")
        self.model = model
        self.sources: tuple[DecisionSource, ...] = (model, *_flat(fallbacks))
        self.settings = settings if settings is not None else ModelSettings()
        self.limits = limits if limits is not None else DecisionLimits()
        self.max_retries = max_retries
        self.timeout = timeout
        self.deadline = deadline
        self.requests_per_minute = requests_per_minute
        self.tokens_per_minute = tokens_per_minute
        self.concurrency = concurrency
        try:
            self.questions: dict[str, Question] = checked_questions(questions if questions is not None else {})
        except QuestionError as error:
            raise AgentError(f"{self!r}: {error}") from None
        self._check()

    @classmethod
    def of(
        cls,
        function: DecisionFunction,
        *,
        questions: Mapping[str, Question] | None = None,
        fallbacks: Sequence["DecisionSource | DecisionModel"] = (),
        max_retries: int = 0,
        timeout: float = 30.0,
        deadline: float = 600.0,
        requests_per_minute: int | None = None,
        concurrency: int | None = None,
    ) -> "DecisionModel":
        """Make a decision model of a function `(state)` or `(state, questions)`, sync or async.

        It answers by question name: NoulAnswer, ChoiceAnswer, ScoreAnswer, or as short forms True/False or a
        probability, an option, a score. An exception is a failed response; TimeoutError and ConnectionError are
        retried `max_retries` times.
        """
        return cls(
            _function_source(function),
            questions=questions,
            fallbacks=fallbacks,
            max_retries=max_retries,
            timeout=timeout,
            deadline=deadline,
            requests_per_minute=requests_per_minute,
            concurrency=concurrency,
        )

    def __repr__(self) -> str:
        return f"DecisionModel({label_of(self.model)!r})"

    def _check(self) -> None:
        for source in self.sources:
            _check_source(source)
        if isinstance(self.max_retries, bool) or not isinstance(self.max_retries, int) or self.max_retries < 0:
            raise AgentError(f"DecisionModel(max_retries={self.max_retries!r}): 0 or more")
        for name in ("timeout", "deadline"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
                raise AgentError(f"DecisionModel({name}={value!r}): seconds, more than 0")
        for name in ("requests_per_minute", "tokens_per_minute", "concurrency"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise AgentError(f"DecisionModel({name}={value!r}): a whole number from 1 on, or None for no limit")


def label_of(source: DecisionSource) -> str:
    """How messages, metrics and answers name a source."""
    if isinstance(source, str):
        return source
    if isinstance(source, Rules | FunctionSource):
        return source.label
    if isinstance(source, Model):
        return source.model_id
    return getattr(source, "__name__", type(source).__name__)


def model_name(name: str) -> str:
    """`system_one:x` -> `system-one:x`, as pydantic-ai spells it."""
    provider, _, model = name.partition(":")
    return f"{provider.replace('_', '-')}:{model}"


def _flat(fallbacks: Sequence["DecisionSource | DecisionModel"]) -> list[DecisionSource]:
    flat: list[DecisionSource] = []
    for each in fallbacks:
        flat += each.sources if isinstance(each, DecisionModel) else [each]
    return flat


def _check_source(source: object) -> None:
    if isinstance(source, str):
        provider, _, name = source.partition(":")
        if not (provider and name):
            raise AgentError(
                f"DecisionModel({source!r}): a name is 'provider:model', such as 'system_one:jev-1.14'; "
                f"the providers: {', '.join(PROVIDERS)}"
            )
        if provider.replace("-", "_") not in PROVIDERS:
            hint = did_you_mean(provider, PROVIDERS) or f"; there are: {', '.join(PROVIDERS)}"
            raise AgentError(
                f"DecisionModel({source!r}): {provider!r} has no decision models{hint}; chat models are none"
            )
        return
    if isinstance(source, Rules | FunctionSource | ProviderModel):
        return
    if isinstance(source, Model | type) or not callable(source):
        raise AgentError(
            f"DecisionModel({source!r}): a name such as 'system_one:jev-1.14', a pydantic-ai decision model, a "
            "function without parameters that makes one, or DecisionModel.of(function)"
        )
    if _parameters(source):
        raise AgentError(
            f"DecisionModel({label_of(source)}): a function without parameters makes a model; for one that decides "
            f"write DecisionModel.of({label_of(source)})"
        )


def _function_source(function: object) -> FunctionSource:
    if isinstance(function, type) or not callable(function):
        raise AgentError(f"DecisionModel.of({function!r}): a function of the state")
    name = getattr(function, "__name__", type(function).__name__)
    count = len(_parameters(function))
    if count not in (1, 2):
        raise AgentError(
            f"DecisionModel.of({name}): a function (state) or (state, questions), not of {count} parameters"
        )
    return FunctionSource(function, takes_questions=count == 2)


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The parameters that must be given by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # of C; nothing is known
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in positional and each.default is each.empty]
