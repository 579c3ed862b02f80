"""The retrieval action: documents or a dead letter, one of them, and user_context on both."""

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from parkway.agents import (
    AgentError,
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    Document,
    DocumentStore,
    HashingEmbedder,
    PgVector,
    Retry,
    SqliteVec,
    StoreError,
    VectorStore,
)
from parkway.schemas.errors import DlqReason
from parkway.workers.actions.documents import fitting
from parkway.workers.actions.retrieval import MAX_QUERY_CHARACTERS, MAX_RESULTS, RetrievalAction
from parkway.workers.effects import Effects, Task

DOCUMENTS = [
    Document(id="a", content="Routers match events.", metadata={"lang": "en"}, score=0.9),
    Document(id="b", content="Workers run actions.", metadata={"lang": "en"}, score=0.5),
]


class Store(DocumentStore):
    """Answers by `ways`, one call after another; the last one for ever."""

    def __init__(self, *ways: Callable[[], Any] | BaseException | Sequence[Any]) -> None:
        self.ways = list(ways)
        self.asked: list[tuple[str, Any, int, Mapping[str, Any]]] = []

    async def query(self, text: str, embedding: Any, *, max_results: int, where: Mapping[str, Any]) -> Any:
        self.asked.append((text, embedding, max_results, where))
        way = self.ways.pop(0) if len(self.ways) > 1 else self.ways[0]
        if isinstance(way, BaseException):
            raise way
        return await way() if callable(way) else way


def action(
    store: DocumentStore | None = None, /, *, max_response_bytes: int = 900_000, **options: Any
) -> RetrievalAction:
    source = store if store is not None else Store(DOCUMENTS)
    options.setdefault("retry", Retry(attempts=3, backoff=5, jitter=0))
    return RetrievalAction({"docs": VectorStore(lambda: source, **options)}, max_response_bytes=max_response_bytes)


def task(attempt: int = 1, seconds: float = 100, **attributes: Any) -> Task:
    given = {"query": "who matches?", "vector_store": "docs", **attributes}
    now = int(time.time() * 1000)
    request = ContextRetrievalRequestEvent(**given)
    return Task(request.to_dict(), now + int(seconds * 1000), attempt=attempt, since=now)


def response_of(effects: Effects) -> ContextRetrievalResponseEvent:
    assert effects.failure is None, effects.failure
    assert isinstance(effects.response, ContextRetrievalResponseEvent)
    assert effects.again is None
    return effects.response


async def test_documents_come_with_content_metadata_id_and_score() -> None:
    asked = task(max_results=2)
    response = response_of(await action().handle(asked))
    assert response.request_id == asked.event["id"]
    assert response.query == "who matches?"
    assert response.documents == DOCUMENTS
    assert response.to_dict()["attributes"]["documents"][0] == {
        "content": "Routers match events.",
        "metadata": {"lang": "en"},
        "id": "a",
        "embedding": None,
        "score": 0.9,
    }


@pytest.mark.parametrize("context", [{"step": "triage", "n": [1, {"a": None}]}, {}])
async def test_user_context_comes_back(context: dict[str, Any]) -> None:
    store = Store(DOCUMENTS)
    response = response_of(await action(store).handle(task(user_context=context)))
    assert response.user_context == context
    assert "triage" not in str(store.asked)


async def test_without_user_context_the_response_has_no_such_key() -> None:
    assert "user_context" not in response_of(await action().handle(task())).attributes


async def test_concurrent_requests_keep_their_user_context() -> None:
    waits = iter([0.02, 0.0, 0.01])

    async def late() -> list[Document]:
        await asyncio.sleep(next(waits))
        return DOCUMENTS

    retrieval = action(Store(late))
    done = await asyncio.gather(*(retrieval.handle(task(query=str(n), user_context={"n": n})) for n in range(3)))
    assert [(each.query, each.user_context) for each in map(response_of, done)] == [
        (str(n), {"n": n}) for n in range(3)
    ]


async def test_the_store_gets_text_embedding_bound_and_filter() -> None:
    store = Store(DOCUMENTS)
    response = response_of(
        await action(store, embedder=HashingEmbedder(16), filter={"lang": "en"}).handle(task(max_results=1))
    )
    ((text, embedding, bound, where),) = store.asked
    assert (text, len(embedding), bound, where) == ("who matches?", 16, 1, {"lang": "en"})
    assert len(response.documents) == 1, "a store that gives more than asked for is cut"


async def test_a_failed_query_is_tried_again_by_the_policy_and_then_goes_to_the_dlq() -> None:
    store = Store(ConnectionError("refused by secret-host"))
    retrieval = action(store, embedder=HashingEmbedder())
    for attempt, wait in ((1, 5.0), (2, 10.0)):
        effects = await retrieval.handle(task(attempt))
        assert effects == Effects(again=wait)
    effects = await retrieval.handle(task(3))
    assert effects.response is None
    assert effects.failure is not None
    assert effects.failure.reason == DlqReason.RETRIEVAL_FAILED
    assert effects.failure.attempts == 3
    assert effects.failure.message == "vector store 'docs': ConnectionError: refused by secret-host"
    assert effects.failure.plain == "vector store 'docs': ConnectionError"
    assert [entry.outcome for entry in effects.journal] == ["success"], "the embedding was made and costs"


async def test_after_a_failed_attempt_the_next_one_answers() -> None:
    retrieval = action(Store(TimeoutError(), DOCUMENTS))
    assert (await retrieval.handle(task(1))).again == 5.0
    assert response_of(await retrieval.handle(task(2))).documents == DOCUMENTS


@pytest.mark.parametrize("error", [StoreError("store x: holds embeddings of 3 dimensions"), ValueError("not in `on`")])
async def test_what_no_attempt_mends_is_not_tried_again(error: Exception) -> None:
    effects = await action(Store(error), retry=Retry(attempts=3, on=(ConnectionError, StoreError))).handle(task())
    assert effects.failure is not None
    assert effects.failure.attempts == 1


async def test_our_own_errors_are_said_in_full_as_they_quote_nothing() -> None:
    effects = await action(Store(StoreError("table t does not exist"))).handle(task())
    assert effects.failure is not None
    assert effects.failure.plain == "vector store 'docs': table t does not exist"


async def test_no_attempt_begins_after_the_deadline() -> None:
    effects = await action(Store(ConnectionError())).handle(task(seconds=3))  # the wait would be 5 s
    assert effects.failure is not None
    assert effects.failure.reason == DlqReason.RETRIEVAL_FAILED


async def test_a_request_that_comes_too_late_says_so() -> None:
    effects = await action().handle(task(seconds=-1))
    assert effects.failure is not None
    assert effects.failure.reason == DlqReason.DEADLINE_EXCEEDED


async def test_a_store_that_hangs_costs_its_timeout_only() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    began = time.monotonic()
    effects = await action(Store(hang), timeout=0.05, retry=Retry(attempts=1)).handle(task())
    assert time.monotonic() - began < 5
    assert effects.failure is not None
    assert effects.failure.message == "vector store 'docs': TimeoutError: no documents within 0.05 s"


async def test_cancelled_from_outside_it_ends_without_a_response() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    running = asyncio.create_task(action(Store(hang)).handle(task()))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_store_that_lets_a_cancellation_out_has_failed() -> None:
    assert (await action(Store(asyncio.CancelledError())).handle(task())).again == 5.0


@pytest.mark.parametrize("given", ["text", [{"content": "no document"}], None, itertools.repeat(DOCUMENTS[0])])
async def test_a_store_that_gives_something_else_has_failed(given: Any) -> None:
    effects = await action(Store(given), retry=Retry(attempts=1)).handle(task())
    assert effects.failure is not None
    assert "TypeError" in effects.failure.message


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"vector_store": "dcos"}, "no vector store 'dcos' (did you mean docs?)"),
        ({"vector_store": "zzz"}, "no vector store 'zzz'; there are: docs"),
        ({"query": "x" * (MAX_QUERY_CHARACTERS + 1)}, "query: 32,001 characters, the limit is 32,000"),
        ({"max_results": MAX_RESULTS + 1}, "max_results: 1001, the limit is 1,000"),
    ],
)
async def test_what_cannot_be_asked_goes_to_the_dlq_at_once(attributes: dict[str, Any], said: str) -> None:
    effects = await action().handle(task(**attributes))
    assert effects.failure is not None
    assert effects.failure.reason == DlqReason.BAD_REQUEST
    assert said in effects.failure.message


async def test_an_attribute_of_nobody_is_a_bad_request() -> None:
    asked = task()
    event = {**asked.event, "attributes": {**asked.event["attributes"], "filters": {"a": 1}}}
    effects = await action().handle(Task(event, asked.deadline))
    assert effects.failure is not None
    assert effects.failure.reason == DlqReason.BAD_REQUEST
    assert "unknown attribute 'filters'" in effects.failure.message


async def test_documents_that_do_not_fit_are_left_out_from_the_end() -> None:
    many = [Document(id=str(n), content="x" * 300, score=1 - n / 10) for n in range(10)]
    response = response_of(await action(Store(many), max_response_bytes=2_000).handle(task(max_results=10)))
    assert [each.id for each in response.documents] == ["0", "1", "2", "3"]
    assert len(response.to_json()) <= 2_000


async def test_one_document_that_does_not_fit_alone_is_cut_and_says_so() -> None:
    huge = Document(id="a", content='é\n"\U0001f697' * 5_000, metadata={"source": "s"}, score=1.0)
    response = response_of(await action(Store([huge]), max_response_bytes=2_000).handle(task()))
    (found,) = response.documents
    assert found.metadata == {"source": "s", "parkway_cut": 20_000}
    assert huge.content.startswith(found.content)
    assert 1_800 < len(response.to_json()) <= 2_000
    assert fitting([], 10) == []


async def test_an_embedding_is_a_model_call_of_the_journal() -> None:
    effects = await action(embedder=HashingEmbedder(16)).handle(task(2))
    (entry,) = effects.journal
    assert (entry.kind, entry.name, entry.outcome, entry.attempt) == ("model_call", "docs", "success", 2)
    assert entry.model == "words-16"
    assert entry.usage == {"promptTokens": 0, "completionTokens": 0}
    assert entry.content == {"query": "who matches?"}
    assert entry.started_at <= entry.ended_at


async def test_an_embedder_that_fails_is_tried_again_and_stands_in_the_journal_at_the_end() -> None:
    class Down(HashingEmbedder):
        async def embed(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError("no route")

    retrieval = action(embedder=Down())
    assert (await retrieval.handle(task(1))).again == 5.0
    effects = await retrieval.handle(task(3))
    assert effects.failure is not None
    (entry,) = effects.journal
    assert (entry.outcome, entry.error_type) == ("failed", "provider_error")


@pytest.mark.parametrize(
    ("way", "outcome"), [(DOCUMENTS, "ok"), ([], "empty"), (KeyError(), "failed"), (TimeoutError(), "timeout")]
)
async def test_queries_are_counted_by_store_and_outcome(way: Any, outcome: str) -> None:
    def count() -> float:
        labels = {"store": "docs", "outcome": outcome}
        return REGISTRY.get_sample_value("parkway_retrieval_seconds_count", labels) or 0.0

    before = count()
    await action(Store(way)).handle(task())
    assert count() == before + 1


def test_what_a_worker_can_never_open_is_said_when_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCS_DSN", raising=False)
    store = VectorStore(PgVector("docs", dsn_env="DOCS_DSN"), embedder=HashingEmbedder())
    with pytest.raises(AgentError, match="environment variable DOCS_DSN is not set"):
        RetrievalAction({"docs": store})


async def test_a_store_is_opened_by_the_first_query_and_closed_with_the_worker(tmp_path: Path) -> None:
    made = []

    class Closing(Store):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    def make() -> DocumentStore:
        made.append(Closing(DOCUMENTS))
        return made[-1]

    store = VectorStore(make)
    retrieval = RetrievalAction({"docs": store})
    assert made == []
    await asyncio.gather(*(retrieval.handle(task()) for _ in range(5)))
    assert len(made) == 1
    await store.close()
    assert made[0].closed == 1


async def test_a_store_that_cannot_be_opened_is_opened_by_a_later_attempt() -> None:
    ways: list[Any] = [OSError("down"), Store(DOCUMENTS)]

    def make() -> DocumentStore:
        way = ways.pop(0)
        if isinstance(way, Exception):
            raise way
        return way  # type: ignore[no-any-return]

    retrieval = RetrievalAction({"docs": VectorStore(make, retry=Retry(attempts=3, backoff=5, jitter=0))})
    assert (await retrieval.handle(task())).again == 5.0
    assert response_of(await retrieval.handle(task(2))).documents == DOCUMENTS


async def test_the_whole_with_a_real_store(tmp_path: Path) -> None:
    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder=HashingEmbedder())
    await store.add([Document(id=each.id, content=each.content, metadata=each.metadata) for each in DOCUMENTS])
    response = response_of(
        await RetrievalAction({"docs": store}).handle(task(query="who runs the actions", max_results=1))
    )
    assert [each.id for each in response.documents] == ["b"]
    await store.close()
