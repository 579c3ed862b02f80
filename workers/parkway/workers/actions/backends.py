"""The model behind a chat, and its fallbacks: one question, asked until one of them answers it."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from pydantic_ai.direct import model_request
from pydantic_ai.messages import InstructionPart, ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from parkway.agents.chat_model import ChatModel, ModelSource
from parkway.agents.retry import Retry
from parkway.agents.threads import run_in_thread
from parkway.runtime import metrics
from parkway.schemas import jsonio
from parkway.schemas.errors import ErrorType
from parkway.workers.actions.providers import CallError, classify, secrets_of
from parkway.workers.actions.usage import Tally
from parkway.workers.limiter import Limiter, Permit

Schema = Mapping[str, Any]


class CallFailedError(Exception):
    """No model answered; `error` is what went wrong last."""

    def __init__(self, error: CallError) -> None:
        super().__init__(error.message)
        self.error = error


class Backend:
    """One model. It is built at its first call, off the event loop: it imports an SDK and reads keys."""

    def __init__(self, source: ModelSource) -> None:
        self.label: Final = _label(source)
        self._source = source
        self._model: Model | None = None
        self._building = asyncio.Lock()

    async def model(self) -> Model:
        """The pydantic-ai model. Raises what its provider raises for a missing key or package."""
        async with self._building:
            if self._model is None:
                self._model = await run_in_thread(_build, self._source)
            return self._model

    @property
    def built(self) -> Model | None:
        return self._model


class Backends:
    """The models of one ChatModel in their order. Shared by all requests, keeps nothing about any."""

    def __init__(self, chat: ChatModel, *, backoff: Retry, quote: bool, limiter: Limiter | None = None) -> None:
        self._chat = chat
        self._limiter = limiter
        self._backends = [Backend(source) for source in chat.sources]
        self._backoff = backoff
        self._quote = quote
        self._tools = [
            ToolDefinition(
                name=tool.name,
                description=tool.description or None,
                parameters_json_schema=tool.parameters,
            )
            for tool in chat.tools
        ]

    async def ask(
        self,
        messages: Sequence[ModelMessage],
        *,
        output_schema: Schema | None,
        tally: Tally,
        first: str | None,
        deadline: int,
        permit: Permit | None = None,
    ) -> tuple[str, ModelResponse]:
        """Give the label of the model that answered, and its reply.

        Each model is retried while its errors may pass, then the next one is asked. `first` is the label of
        the model to begin with: the one that answered the rounds before. `permit` is for the first call, the
        others wait for one. Raises CallFailedError.
        """
        calls_before = tally.calls
        failure: CallFailedError | None = None
        for backend in self._in_order(first):
            attempt = 0
            while True:
                attempt += 1
                if tally.calls > calls_before:
                    tally.retries += 1
                    metrics.MODEL_RETRIES.labels(backend.label).inc()
                tally.calls += 1
                try:
                    return backend.label, await self._permitted(permit, backend, messages, output_schema, tally)
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
        assert failure is not None  # there is at least one model
        raise failure

    def _in_order(self, first: str | None) -> Iterator[Backend]:
        labels = [backend.label for backend in self._backends]
        start = labels.index(first) if first in labels else 0
        yield from self._backends[start:]
        yield from self._backends[:start]

    async def _permitted(
        self,
        permit: Permit | None,
        backend: Backend,
        messages: Sequence[ModelMessage],
        output_schema: Schema | None,
        tally: Tally,
    ) -> ModelResponse:
        if permit is None and self._limiter is not None:
            permit = await self._limiter.take()
        before = tally.tokens_used
        began, outcome = time.perf_counter(), "ok"
        try:
            return await self._call(backend, messages, output_schema, tally)
        except CallFailedError as error:
            outcome = str(error.error.type)
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            metrics.MODEL_SECONDS.labels(backend.label, outcome).observe(time.perf_counter() - began)
            if permit is not None:
                used = tally.tokens_used - before
                permit.end(used or None)  # a call that failed may have cost some, but nobody says how many

    async def _call(
        self, backend: Backend, messages: Sequence[ModelMessage], output_schema: Schema | None, tally: Tally
    ) -> ModelResponse:
        try:
            model = await backend.model()
        except Exception as error:  # a factory is the user's code
            # What a provider says about its configuration holds no event content, and names the way out.
            raise CallFailedError(classify(error, backend.label, quote=True)) from error
        try:
            async with asyncio.timeout(self._chat.timeout):
                response = await model_request(
                    model,
                    messages,
                    model_settings=self._settings(model),
                    model_request_parameters=self._parameters(model, output_schema),
                )
        except Exception as error:  # adapters raise what their SDK lets through
            secrets = secrets_of(model)
            raise CallFailedError(classify(error, backend.label, quote=self._quote, secrets=secrets)) from error
        tally.add(response.usage)
        metrics.MODEL_TOKENS.labels(backend.label, "input").inc(response.usage.input_tokens)
        metrics.MODEL_TOKENS.labels(backend.label, "output").inc(response.usage.output_tokens)
        if unusable := _unusable(response, backend.label):
            raise CallFailedError(unusable)
        return response

    def _settings(self, model: Model) -> ModelSettings:
        ours = {"timeout": self._chat.timeout, **self._chat.settings, "max_retries": 0}
        # An SDK without retries of its own would warn at every call that it cannot turn them off.
        for name in ("timeout", "max_retries"):
            if ours[name] is None or name in model.unsupported_settings:
                del ours[name]
        return cast("ModelSettings", ours)

    def _parameters(self, model: Model, output_schema: Schema | None) -> ModelRequestParameters:
        instructions = [self._chat.instructions] if self._chat.instructions else []
        parameters = ModelRequestParameters(function_tools=self._tools)
        if output_schema is not None and self._native_output(model, output_schema):
            parameters.output_mode = "native"
            parameters.output_object = OutputObjectDefinition(json_schema=dict(output_schema))
        elif output_schema is not None:
            instructions.append(
                "Give your final answer as one JSON value and nothing else. It must fit this JSON schema:\n"
                + jsonio.dumps(output_schema).decode()
            )
        parameters.instruction_parts = [InstructionPart(content=text) for text in instructions] or None
        return parameters

    def _native_output(self, model: Model, output_schema: Schema) -> bool:
        """Whether the provider can be held to the schema: objects only, and no tools beside it."""
        try:
            supported = model.profile.get("supports_json_schema_output", False)
        except NotImplementedError:  # a FallbackModel has no profile of its own
            return False
        return supported and not self._tools and output_schema.get("type") == "object"

    def _wait(self, error: CallError, attempt: int, deadline: int) -> float | None:
        """Seconds until this model is asked again, or None when it is the next one's turn."""
        if not error.retryable or attempt > self._chat.max_retries:
            return None
        wait = max(self._backoff.wait_after(attempt), error.retry_after or 0.0)
        too_long = (error.retry_after or 0.0) > self._backoff.max_backoff
        return None if too_long or time.time() + wait >= deadline / 1000 else wait


def _label(source: ModelSource) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, Model):
        return source.model_id
    return getattr(source, "__name__", type(source).__name__)


def _build(source: ModelSource) -> Model:
    if isinstance(source, str | Model):
        return infer_model(source)
    model = source()
    if not isinstance(model, Model):
        raise TypeError(f"{_label(source)}() gave a {type(model).__name__}, not a pydantic-ai Model")
    return model


def _unusable(response: ModelResponse, label: str) -> CallError | None:
    """Why a reply that arrived counts as none."""
    if response.finish_reason == "content_filter":
        return CallError(ErrorType.REFUSED, f"model {label!r} refused to answer (content filter)", final=True)
    if response.finish_reason == "error":
        return CallError(ErrorType.PROVIDER_ERROR, f"model {label!r} ended its reply with an error", retryable=True)
    if response.state == "suspended":
        message = f"model {label!r} suspended its reply; background modes are not supported"
        return CallError(ErrorType.PROVIDER_ERROR, message)
    return None
