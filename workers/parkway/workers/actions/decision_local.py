"""Decisions without a network: the rows of a table, and the user's functions."""

import asyncio
import inspect
from collections.abc import Awaitable, Mapping
from copy import deepcopy
from typing import Any, cast

from parkway.agents.decision_model import FunctionSource
from parkway.agents.decision_rules import Rules, RulesError
from parkway.agents.threads import run_in_thread
from parkway.schemas.decision_answers import Answer, ChoiceAnswer, NoulAnswer, ScoreAnswer
from parkway.schemas.decision_questions import Noul, Question, Score
from parkway.schemas.errors import ErrorType
from parkway.schemas.json_form import short
from parkway.workers.actions.backends import CallFailedError
from parkway.workers.actions.decision_ask import Ask, Decided, checked, failed
from parkway.workers.actions.providers import classify


class TableSource:
    """Asks a decision table. A state that it has no answer for is a failure, which names the rows."""

    def __init__(self, rules: Rules) -> None:
        self.label = rules.label
        self._rules = rules

    async def decide(self, ask: Ask) -> Decided:
        unknown = [name for name in ask.questions if name not in self._rules.questions]
        if unknown:
            known = ", ".join(self._rules.questions)
            message = f"decision table {self.label!r} answers {known}, not {', '.join(map(repr, unknown))}"
            raise failed(ErrorType.BAD_REQUEST, message)
        try:
            answers = self._rules.decide(ask.state)
        except RulesError as error:
            raise failed(ErrorType.PROVIDER_ERROR, f"decision table {self.label!r}: {error}") from None
        return checked(self.label, ask, Decided({name: answers[name] for name in ask.questions}, self.label))


class FunctionCall:
    """Asks a function of the user's, in a thread unless it is async."""

    def __init__(self, source: FunctionSource, timeout: float, *, quote: bool) -> None:
        self.label = source.label
        self._function = source.function
        self._takes_questions = source.takes_questions
        self._is_async = inspect.iscoroutinefunction(source.function)
        self._timeout = timeout
        self._quote = quote

    async def decide(self, ask: Ask) -> Decided:
        state = deepcopy(ask.state)  # what the function does to it, the next source must not see
        arguments = (state, dict(ask.questions)) if self._takes_questions else (state,)
        try:
            async with asyncio.timeout(self._timeout):
                given = await self._call(arguments)
        except (Exception, SystemExit) as error:
            raise CallFailedError(classify(error, self.label, quote=self._quote)) from error
        if not isinstance(given, Mapping):
            message = f"function {self.label!r} gave a {type(given).__name__}, not a map of answers by question name"
            raise failed(ErrorType.OUTPUT_INVALID, message)
        try:
            answers = {name: self._answer(name, ask.questions.get(name), value) for name, value in given.items()}
            return checked(self.label, ask, Decided(answers, self.label))
        except OverflowError:
            message = f"function {self.label!r} answered with a number that is too large"
            raise failed(ErrorType.OUTPUT_INVALID, message) from None

    async def _call(self, arguments: tuple[Any, ...]) -> Any:
        try:
            if self._is_async:
                return await cast("Awaitable[Any]", self._function(*arguments))
            return await run_in_thread(self._function, *arguments)
        except asyncio.CancelledError as error:
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
            # Nobody cancelled this request: it must end, not stay in hand for ever.
            raise RuntimeError(f"function {self.label!r} awaited something that was cancelled") from error

    def _answer(self, name: Any, question: Question | None, value: Any) -> Answer:
        """A typed answer, or the short form of one; what fits no question is found by `checked`."""
        if isinstance(value, Answer):
            return value
        if isinstance(question, Noul):
            if isinstance(value, bool):
                return NoulAnswer(value=value)
            if isinstance(value, float | int):
                return NoulAnswer(noul=float(value))
        elif isinstance(question, Score) and isinstance(value, float | int) and not isinstance(value, bool):
            return ScoreAnswer(score=value)
        elif isinstance(value, str):
            return ChoiceAnswer(choice=value)
        message = f"function {self.label!r} answered {short(name)} with a {type(value).__name__}"
        raise failed(ErrorType.OUTPUT_INVALID, message)
