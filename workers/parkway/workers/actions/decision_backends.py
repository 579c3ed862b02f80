"""The sources of one decision model, in order: each retried while its errors may pass, then the next one asked."""

import asyncio
import time
from typing import Any

from parkway.agents.decision_model import DecisionModel, FunctionSource
from parkway.agents.decision_rules import Rules
from parkway.agents.retry import Retry
from parkway.runtime import metrics
from parkway.runtime.tracing import inner_span, mark_failed
from parkway.schemas.errors import ErrorType
from parkway.workers.actions.backends import CallFailedError
from parkway.workers.actions.decision_ask import Ask, Decided, Source
from parkway.workers.actions.decision_local import FunctionCall, TableSource
from parkway.workers.actions.decision_provider import ProviderCall
from parkway.workers.actions.opening import Opening, opening
from parkway.workers.actions.providers import CallError
from parkway.workers.actions.usage import Tally
from parkway.workers.effects import JournalEntry
from parkway.workers.limiter import Limiter, Permit
from parkway.workers.times import now, now_ms


class DecisionBackends:
    """Shared by all requests to one decision model, keeps nothing about any."""

    def __init__(
        self, name: str, model: DecisionModel, *, backoff: Retry, quote: bool, limiter: Limiter | None = None
    ) -> None:
        self._name = name
        self._max_retries = model.max_retries
        self._sources = [_source_of(model, each, quote=quote) for each in model.sources]
        self._backoff = backoff
        self._limiter = limiter

    async def open(self) -> list[Opening]:
        """Make the providers' models that are not made yet; rules and functions are there."""
        return [
            await opening(source.label, source.opened)
            if isinstance(source, ProviderCall)
            else Opening(source.label, None)
            for source in self._sources
        ]

    async def ask(
        self, ask: Ask, *, tally: Tally, journal: list[JournalEntry], deadline: int, permit: Permit | None = None
    ) -> Decided:
        """Give what the first source that can answers. `permit` is for the first call. Raises CallFailedError."""
        failure: CallFailedError | None = None
        for source in self._sources:
            attempt = 0
            while True:
                attempt += 1
                if tally.calls:
                    tally.retries += 1
                    metrics.MODEL_RETRIES.labels(source.label).inc()
                tally.calls += 1
                try:
                    return await self._permitted(permit, source, ask, tally, journal)
                except CallFailedError as error:
                    failure = error
                permit = None
                if failure.error.final:
                    raise failure
                wait = self._wait(failure.error, attempt, deadline)
                if wait is None:
                    break
                await asyncio.sleep(wait)
                tally.waited += wait
        assert failure is not None  # there is at least one source
        raise failure

    async def _permitted(
        self, permit: Permit | None, source: Source, ask: Ask, tally: Tally, journal: list[JournalEntry]
    ) -> Decided:
        if permit is None and self._limiter is not None:
            permit = await self._limiter.take()
        tokens = 0
        try:
            decided = await self._recorded(source, ask, tally.calls, journal)
            if decided.usage is not None:
                tally.add(decided.usage)
                tokens = decided.usage.input_tokens + decided.usage.output_tokens
                metrics.MODEL_TOKENS.labels(source.label, "input").inc(decided.usage.input_tokens)
                metrics.MODEL_TOKENS.labels(source.label, "output").inc(decided.usage.output_tokens)
            return decided
        finally:
            if permit is not None:
                permit.end(tokens or None)

    async def _recorded(self, source: Source, ask: Ask, attempt: int, journal: list[JournalEntry]) -> Decided:
        """One call in a span of its own, counted, and in the journal however it ends."""
        began, started_at = time.perf_counter(), now_ms()
        outcome, decided = "cancelled", None
        attributes = {
            "gen_ai.operation.name": "decide",
            "gen_ai.request.model": source.label,
            "parkway.decision.model": self._name,
            "parkway.decision.questions": len(ask.questions),
        }
        with inner_span(f"decide {source.label}", attributes) as span:
            try:
                decided = await source.decide(ask)
                outcome = str(ErrorType.REFUSED) if decided.refused else "ok"
            except CallFailedError as error:
                outcome = str(error.error.type)
                raise
            finally:
                metrics.DECISION_SECONDS.labels(source.label, outcome).observe(time.perf_counter() - began)
                journal.append(self._entry(ask, decided, outcome, attempt, started_at))
                if outcome != "ok":
                    mark_failed(span, outcome)
            span.set_attribute("gen_ai.response.model", decided.model)
        return decided

    def _entry(self, ask: Ask, decided: Decided | None, outcome: str, attempt: int, started_at: int) -> JournalEntry:
        usage = decided.usage if decided is not None else None
        return JournalEntry(
            kind="decision",
            name=self._name,
            started_at=started_at,
            ended_at=now_ms(),
            outcome="success" if outcome == "ok" else "cancelled" if outcome == "cancelled" else "failed",
            attempt=attempt,
            error_type=None if outcome in ("ok", "cancelled") else outcome,
            model=decided.model if decided is not None else None,
            usage=_tokens(usage.input_tokens, usage.output_tokens) if usage is not None else None,
            content={
                "state": ask.state,
                "questions": ask.questions,
                "answers": decided.answers if decided is not None else None,
            },
        )

    def _wait(self, error: CallError, attempt: int, deadline: int) -> float | None:
        """Seconds until this source is asked again, or None when it is the next one's turn."""
        if not error.retryable or attempt > self._max_retries:
            return None
        wait = max(self._backoff.wait_after(attempt), error.retry_after or 0.0)
        too_long = (error.retry_after or 0.0) > self._backoff.max_backoff
        return None if too_long or now() + wait >= deadline / 1000 else wait


def _source_of(model: DecisionModel, source: Any, *, quote: bool) -> Source:
    if isinstance(source, Rules):
        return TableSource(source)
    if isinstance(source, FunctionSource):
        return FunctionCall(source, model.timeout, quote=quote)
    return ProviderCall(source, model, quote=quote)


def _tokens(prompt: int, completion: int) -> dict[str, Any]:
    return {"promptTokens": prompt, "completionTokens": completion}
