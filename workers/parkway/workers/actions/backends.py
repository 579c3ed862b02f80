"""The model behind a chat, and its fallbacks: one question, asked until one of them answers it."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.tools import ToolDefinition

from parkway.agents.chat_model import ChatModel
from parkway.agents.retry import Retry
from parkway.runtime import metrics
from parkway.workers.actions.backend import Backend, CallForm, Schema, fitted, unusable
from parkway.workers.actions.budget import Budget
from parkway.workers.actions.call_journal import CallRecord
from parkway.workers.actions.opening import Opening, opening
from parkway.workers.actions.providers import CallError, classify, secrets_of
from parkway.workers.actions.usage import Tally
from parkway.workers.effects import JournalEntry
from parkway.workers.limiter import Limiter, Permit
from parkway.workers.times import now_ms


class CallFailedError(Exception):
    """No model answered; `error` is what went wrong last."""

    def __init__(self, error: CallError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(slots=True)
class Question:
    """What is asked in one round of a request, and what asking costs it: `tally` and `journal` grow with every call.

    `first` is the label of the model to begin with, the one that answered the rounds before. `permit` is for the
    first call, the others wait for one. `deadline` is in milliseconds since 1970 (UTC).
    """

    messages: Sequence[ModelMessage]
    tools: Sequence[ToolDefinition]
    output_schema: Schema | None
    round: int
    deadline: int
    first: str | None
    tally: Tally
    journal: list[JournalEntry]
    permit: Permit | None = None

    def attempt(self) -> int:
        """The number of the next call among those of its round, from 1 on."""
        return sum(entry.round == self.round for entry in self.journal) + 1


class Backends:
    """The models of one ChatModel in their order. Shared by all requests, keeps nothing about any."""

    def __init__(
        self, name: str, chat: ChatModel[Any], *, backoff: Retry, quote: bool, budget: Budget, limiter: Limiter | None
    ) -> None:
        self._name = name
        self._chat = chat
        self._limiter = limiter
        self._budget = budget
        self._backends = [Backend(source) for source in chat.sources]
        self._form = CallForm(chat)
        self._backoff = backoff
        self._quote = quote

    async def open(self) -> list[Opening]:
        """Make the models that are not made yet, in their order."""
        return [await opening(backend.label, backend.model) for backend in self._backends]

    async def ask(self, question: Question) -> tuple[str, ModelResponse]:
        """Give the label of the model that answered, and its reply.

        Each model is retried while its errors may pass, then the next one is asked. Raises CallFailedError, and
        ChatError when the request's budget is used up.
        """
        failure: CallFailedError | None = None
        for backend in self._in_order(question.first):
            attempt = 0
            while True:
                attempt += 1
                self._count(question, backend, failure)
                try:
                    return backend.label, await self._permitted(question, backend)
                except CallFailedError as error:
                    failure = error
                if failure.error.final:
                    raise failure
                wait = self._wait(failure.error, attempt, question.deadline)
                if wait is None:
                    break
                self._budget.before_call(question.tally, failure.error.type)  # nobody waits for what is not made
                await asyncio.sleep(wait)
                question.tally.waited += wait
        assert failure is not None  # there is at least one model
        raise failure

    def _in_order(self, first: str | None) -> Iterator[Backend]:
        labels = [backend.label for backend in self._backends]
        start = labels.index(first) if first in labels else 0
        yield from self._backends[start:]
        yield from self._backends[:start]

    def _count(self, question: Question, backend: Backend, failure: CallFailedError | None) -> None:
        self._budget.before_call(question.tally, failure.error.type if failure is not None else None)
        if failure is not None:
            question.tally.retries += 1
            metrics.MODEL_RETRIES.labels(backend.label).inc()
        question.tally.calls += 1

    async def _permitted(self, question: Question, backend: Backend) -> ModelResponse:
        permit, question.permit = question.permit, None
        if permit is None and self._limiter is not None:
            permit = await self._limiter.take()
        before = question.tally.tokens_used
        try:
            return await self._journaled(question, backend)
        finally:
            if permit is not None:
                used = question.tally.tokens_used - before
                permit.end(used or None)  # a call that failed may have cost some, but nobody says how many

    async def _journaled(self, question: Question, backend: Backend) -> ModelResponse:
        call = CallRecord(self._name, backend.label, question.messages, question.round, question.attempt())
        try:
            return await self._call(question, backend, call)
        except CallFailedError as error:
            call.failed(error.error.type, error.__cause__)
            raise
        except asyncio.CancelledError:
            call.outcome = "cancelled"
            raise
        finally:
            metrics.MODEL_SECONDS.labels(backend.label, call.how).observe(call.seconds)
            question.journal.append(call.entry())

    async def _call(self, question: Question, backend: Backend, call: CallRecord) -> ModelResponse:
        try:
            model = await backend.model()
        except Exception as error:  # a factory is the user's code
            # What a provider says about its configuration holds no event content, and names the way out.
            raise CallFailedError(classify(error, backend.label, quote=True)) from error
        call.secrets = secrets_of(model)
        parameters = self._form.parameters(model, question.tools, question.output_schema)
        call.instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ()) or None
        try:
            async with asyncio.timeout(self._chat.timeout):
                response = await model_request(
                    model,
                    question.messages,
                    model_settings=self._form.settings(model),
                    model_request_parameters=parameters,
                )
        except Exception as error:  # adapters raise what their SDK lets through
            failed = classify(error, backend.label, quote=self._quote, secrets=call.secrets)
            raise CallFailedError(failed) from error
        response = fitted(model, response, question.output_schema)
        question.tally.add(response.usage)
        metrics.MODEL_TOKENS.labels(backend.label, "input").inc(response.usage.input_tokens)
        metrics.MODEL_TOKENS.labels(backend.label, "output").inc(response.usage.output_tokens)
        call.reply = response
        self._budget.after_call(question.tally, response.usage)
        if why := unusable(response, backend.label):
            raise CallFailedError(why)
        return response

    def _wait(self, error: CallError, attempt: int, deadline: int) -> float | None:
        """Seconds until this model is asked again, or None when it is the next one's turn."""
        if not error.retryable or attempt > self._chat.max_retries:
            return None
        wait = max(self._backoff.wait_after(attempt), error.retry_after or 0.0)
        too_long = (error.retry_after or 0.0) > self._backoff.max_backoff
        return None if too_long or now_ms() + wait * 1000 >= deadline else wait
