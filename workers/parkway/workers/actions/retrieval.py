"""The retrieval action: queries a vector store, and answers with the documents."""

import asyncio
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import trace

from parkway.agents.errors import did_you_mean
from parkway.agents.vector_store import VectorStore
from parkway.runtime import metrics
from parkway.runtime.logs import get_logger
from parkway.runtime.tracing import inner_span, mark_failed
from parkway.schemas.errors import DlqReason, ParkwayError
from parkway.schemas.events import (
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    Document,
    Event,
    EventError,
)
from parkway.schemas.journal import JournalOutcome
from parkway.workers.actions.documents import MAX_RESPONSE_BYTES, fitting
from parkway.workers.actions.providers import classify
from parkway.workers.effects import Effects, Failure, JournalEntry, Task
from parkway.workers.limiter import Limiter
from parkway.workers.times import now, now_ms

MAX_QUERY_CHARACTERS: Final = 32_000
MAX_RESULTS: Final = 1_000
_TRACEBACK_CHARACTERS: Final = 4_000
_JOURNALED: Final[dict[str, JournalOutcome]] = {"ok": "success", "cancelled": "cancelled"}

_log = get_logger("worker")


@dataclass(frozen=True, slots=True)
class _Query:
    """One attempt at one request, and what it tells the journal."""

    name: str
    store: VectorStore
    request: ContextRetrievalRequestEvent
    attempt: int
    journal: list[JournalEntry] = field(default_factory=list)


class RetrievalAction:
    """Answers context retrieval requests with documents of the agent's vector stores (DESIGN 7.5).

    A query that fails sends nothing: it is tried again by the store's retry policy, and then the request goes to the
    DLQ as it came, `user_context` and all, since a retrieval has no failed response. `limiters` bound the queries of
    the stores that ask for it. Documents beyond `max_response_bytes` are left out, the worst first.

    Raises AgentError for a store that this process can never open: without its package, or an environment variable.
    """

    def __init__(
        self,
        stores: Mapping[str, VectorStore],
        name: str = "retrieval",
        *,
        limiters: Mapping[str, Limiter] | None = None,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        for store in stores.values():
            store.check()
        self.name = name
        self._stores = dict(stores)
        self._limiters = dict(limiters or {})
        self._max_response_bytes = max_response_bytes

    def limiter(self, task: Task) -> Limiter | None:
        """The bound of the store that the request names."""
        asked = (task.event.get("attributes") or {}).get("vector_store")
        return self._limiters.get(asked) if isinstance(asked, str) else None

    async def handle(self, task: Task) -> Effects:
        """One attempt. Raises nothing but CancelledError, and then there is no response."""
        try:
            request = self._read(task.event)
        except EventError as error:
            return Effects(failure=Failure(DlqReason.BAD_REQUEST, str(error), task.attempt))
        query = _Query(request.vector_store, self._stores[request.vector_store], request, task.attempt)
        seconds = min(query.store.timeout, task.deadline / 1000 - now())
        if seconds <= 0:
            return self.expired(task)
        try:
            response = self._response(request, await _documents(query, seconds))
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            return self._failed_attempt(task, query, RuntimeError(f"the store raised {type(error).__name__}"))
        except (Exception, SystemExit) as error:
            return self._failed_attempt(task, query, error)
        return Effects(response=response, journal=query.journal)

    def expired(self, task: Task) -> Effects:
        """Give the failure of a request whose time was over before a query had succeeded."""
        message = f"request {task.event.get('id')!r} was not answered by its deadline"
        if task.held_up_by is not None:
            message += f": it waited for the limit of {task.held_up_by}"
        return Effects(failure=Failure(DlqReason.DEADLINE_EXCEEDED, message, task.attempt))

    def cancelled(self, task: Task, reason: str | None) -> Effects:  # noqa: ARG002  (the protocol's signature)
        """Send nothing: nobody waits for the documents any more."""
        return Effects()

    def failed(self, task: Task, error: Exception) -> Effects:
        """Give the failure for an exception of ours, and of a response that Kafka refused."""
        return Effects(failure=_failure("retrieval", error, task.attempt))

    def _read(self, event: Mapping[str, Any]) -> ContextRetrievalRequestEvent:
        """Raises EventError for what is no retrieval request, or asks for what there is not."""
        request = Event.parse(event)
        if not isinstance(request, ContextRetrievalRequestEvent):
            raise EventError(f"a {request.type} is not a context retrieval request")
        if request.vector_store not in self._stores:
            name = request.vector_store[:100]
            hint = did_you_mean(name, self._stores) or f"; there are: {', '.join(self._stores)}"
            raise EventError(f"vector_store: the agent has no vector store {name!r}{hint}")
        if len(request.query) > MAX_QUERY_CHARACTERS:
            raise EventError(f"query: {len(request.query):,} characters, the limit is {MAX_QUERY_CHARACTERS:,}")
        if request.max_results > MAX_RESULTS:
            raise EventError(f"max_results: {request.max_results}, the limit is {MAX_RESULTS:,}")
        return request

    def _response(
        self, request: ContextRetrievalRequestEvent, documents: list[Document]
    ) -> ContextRetrievalResponseEvent:
        def respond(chosen: list[Document]) -> ContextRetrievalResponseEvent:
            return ContextRetrievalResponseEvent(
                request_id=request.id, query=request.query, documents=chosen, user_context=request.user_context
            )

        kept = fitting(documents, self._max_response_bytes - len(respond([]).to_json()))
        if len(kept) < len(documents):
            trace.get_current_span().set_attribute("parkway.documents.left_out", len(documents) - len(kept))
            _log.warning(
                "documents_left_out",
                action=self.name,
                store=request.vector_store,
                documents=len(documents) - len(kept),
                consequence=f"the response has the best {len(kept)}: all would be beyond "
                f"{self._max_response_bytes:,} bytes; ask for fewer, or index in smaller chunks",
            )
        return respond(kept)

    def _failed_attempt(self, task: Task, query: _Query, error: BaseException) -> Effects:
        retry = query.store.retry
        wait = retry.wait_after(task.attempt)
        last = min(task.since / 1000 + retry.max_hold, task.deadline / 1000)
        may_pass = isinstance(error, retry.on) and not isinstance(error, ParkwayError)
        again = may_pass and task.attempt < retry.attempts and now() + wait <= last
        metrics.ATTEMPTS_FAILED.labels(self.name).inc()
        # Its kind only: the text of an error may quote the query, or a document.
        kind = type(error).__name__
        event = "retrieval_attempt_failed" if again else "retrieval_failed"
        said = {"store": query.name, "attempt": task.attempt, "of": retry.attempts, "error_type": kind}
        if isinstance(error, ParkwayError):
            said["detail"] = str(error)
        trace.get_current_span().add_event(event, {"parkway.attempt": task.attempt, "error.type": kind})
        _log.warning(event, action=self.name, **said)
        if again:
            return Effects(again=wait)
        return Effects(failure=_failure(f"vector store {query.name!r}", error, task.attempt), journal=query.journal)


async def _documents(query: _Query, seconds: float) -> list[Document]:
    """Embed and search, in a span, counted. Raises what goes wrong."""
    began, outcome = time.perf_counter(), "cancelled"
    attributes = {"db.operation.name": "query", "db.collection.name": query.name}
    with inner_span(f"query {query.name}", attributes) as span:
        try:
            async with asyncio.timeout(seconds):
                embedding = await _embedding(query)
                found = await query.store.search(query.request.query, embedding, query.request.max_results)
            outcome = "ok" if found else "empty"
            span.set_attribute("db.response.returned_rows", len(found))
        except asyncio.CancelledError:
            mark_failed(span, outcome)
            raise
        except TimeoutError as error:
            outcome = "timeout"
            mark_failed(span, outcome)
            raise TimeoutError(f"no documents within {seconds:.3g} s") from error
        except BaseException as error:
            outcome = "failed"
            mark_failed(span, type(error).__name__)
            raise
        finally:
            metrics.RETRIEVAL_SECONDS.labels(query.name, outcome).observe(time.perf_counter() - began)
    return found


async def _embedding(query: _Query) -> list[float] | None:
    """The query's embedding, counted and told to the journal; None when the store has no embedder."""
    label = query.store.embedder_label
    if label is None:
        return None
    started, began = now_ms(), time.perf_counter()
    outcome, embedded = "cancelled", None
    try:
        embedded = await query.store.embed([query.request.query], "query")
        outcome = "ok"
    except Exception as error:
        outcome = str(classify(error, label).type)
        raise
    finally:
        metrics.MODEL_SECONDS.labels(label, outcome).observe(time.perf_counter() - began)
        query.journal.append(
            JournalEntry(
                "model_call",
                query.name,
                started,
                now_ms(),
                _JOURNALED.get(outcome, "failed"),
                attempt=query.attempt,
                error_type=outcome if outcome not in _JOURNALED else None,
                model=embedded.model if embedded is not None else None,
                usage={"promptTokens": embedded.tokens, "completionTokens": 0} if embedded is not None else None,
                content={"query": query.request.query},
            )
        )
    assert embedded is not None
    metrics.MODEL_TOKENS.labels(label, "input").inc(embedded.tokens)
    return embedded.vectors[0]


def _failure(where: str, error: BaseException, attempts: int) -> Failure:
    """`plain` leaves the text of the error out, but for ours, which quotes nothing."""
    kind = type(error).__name__
    message = f"{where}: {error}" if isinstance(error, ParkwayError) else f"{where}: {kind}: {error}"
    plain = message if isinstance(error, ParkwayError) else f"{where}: {kind}"
    end = "".join(traceback.format_exception(error))[-_TRACEBACK_CHARACTERS:]
    return Failure(DlqReason.RETRIEVAL_FAILED, message, attempts, plain, end)


def _is_cancelled() -> bool:
    """Whether this task is being cancelled, rather than that a store raised CancelledError by itself."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0
