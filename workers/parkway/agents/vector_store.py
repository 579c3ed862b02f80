"""`VectorStore`: the resource that answers context retrieval requests."""

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

from pydantic_ai.embeddings import EmbeddingSettings

from parkway.agents.embeddings import Embedded, EmbedderSource, Embeddings, check_source, label_of
from parkway.agents.errors import AgentError
from parkway.agents.resource import Resource
from parkway.agents.retry import Retry
from parkway.agents.stores.base import DocumentStore, Filter, StoreError
from parkway.agents.stores.description import StoreDescription
from parkway.agents.threads import run_in_thread
from parkway.schemas.events import Document

StoreSource: TypeAlias = StoreDescription | Callable[[], DocumentStore]
"""`SqliteVec(...)`, `PgVector(...)`, `Qdrant(...)`, or a function (or class) that makes your own `DocumentStore`."""

Kind = Literal["query", "document"]


class VectorStore(Resource):
    """A vector store of an agent; a context retrieval request names it by its attribute in the agent's class.

    `embedder` turns texts into embeddings; the store must be filled with the same one (`parkway index` does so). Only
    a store of your own may be without: it gets the text. `filter` is what metadata of all documents found must say:
    `{"lang": "en"}`. A query that fails is tried again by `retry`, then its request goes to the DLQ; one attempt takes
    `timeout` seconds at most, the embedding included. `concurrency` bounds the queries at once in the whole
    installation (None: no bound). `batch` documents are embedded by one call.

    Nothing here needs a secret or a network: the store and the model are opened at the first query.
    """

    def __init__(
        self,
        store: StoreSource,
        *,
        embedder: EmbedderSource | None = None,
        embedding_settings: EmbeddingSettings | None = None,
        filter: Filter | None = None,  # noqa: A002  the field's word
        retry: Retry = Retry(attempts=4),  # noqa: B008  frozen
        timeout: float = 30.0,
        concurrency: int | None = None,
        batch: int = 64,
    ) -> None:
        """Raise AgentError for values that make no sense."""
        self.source = store
        self.embedder = embedder
        self.embedding_settings = embedding_settings
        self.filter: Filter = dict(filter or {})
        self.retry = retry
        self.timeout = timeout
        self.concurrency = concurrency
        self.batch = batch
        self._check()
        self._opened: _Opened | None = None

    def __repr__(self) -> str:
        return f"VectorStore({_name(self.source)})"

    @property
    def embedder_label(self) -> str | None:
        """The embedding model as metrics name it; None when there is none."""
        return label_of(self.embedder) if self.embedder is not None else None

    def check(self) -> None:
        """Raise AgentError for what this process lacks to open it: a package, an environment variable."""
        if isinstance(self.source, StoreDescription):
            self.source.check()

    async def query(self, text: str, *, max_results: int = 3) -> list[Document]:
        """Give the documents closest to `text`, best first: for tools and handlers that want them at once.

        Raises TimeoutError after `timeout` seconds, StoreError, and what the store and the embedding model raise.
        """
        async with asyncio.timeout(self.timeout):
            embedded = await self.embed([text], "query")
            return await self.search(text, embedded.vectors[0] if embedded is not None else None, max_results)

    async def add(self, documents: Sequence[Document]) -> None:
        """Put documents in, embedded where they are not: one with the id of another replaces it.

        Raises StoreError, and what the store and the embedding model raise; what is in by then stays in.
        """
        for document in documents:
            if not document.id:
                raise StoreError(f"{self!r}: a document without an id: give it one that it keeps")
        opened = self._open()
        for start in range(0, len(documents), self.batch):
            part = list(documents[start : start + self.batch])
            bare = [document.content for document in part if document.embedding is None]
            embedded = await self.embed(bare, "document") if bare else None
            if embedded is not None:
                vectors = iter(embedded.vectors)
                part = [_embedded(document, vectors) for document in part]
            await (await opened.store()).add(part)

    async def delete(self, ids: Sequence[str]) -> int:
        """Take documents out, and say how many were there."""
        return await (await self._open().store()).delete(ids)

    async def embed(self, texts: Sequence[str], kind: Kind) -> Embedded | None:
        """Embed texts with one call of the embedder; None when it has none."""
        embeddings = self._open().embeddings
        return await embeddings.embed(texts, kind) if embeddings is not None else None

    async def search(self, text: str, embedding: Sequence[float] | None, max_results: int) -> list[Document]:
        """Query the store, within the filter. Raises what the store raises, TypeError for what is no document."""
        store = await self._open().store()
        found = await store.query(text, embedding, max_results=max_results, where=self.filter)
        if not isinstance(found, list | tuple):  # a generator may never end, and would have the event loop meanwhile
            raise TypeError(f"{type(store).__name__}.query gave a {type(found).__name__}, not a list of Documents")
        for each in found:
            if not isinstance(each, Document):
                raise TypeError(f"{type(store).__name__}.query gave a {type(each).__name__}, not Documents")
        return list(found)[:max_results]

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    def _open(self) -> "_Opened":
        """What is open on this event loop: connections of an ended one are of no use."""
        loop = asyncio.get_running_loop()
        if self._opened is None or self._opened.loop is not loop:
            self._opened = _Opened(self, loop)
        return self._opened

    def _check(self) -> None:
        if not isinstance(self.source, StoreDescription) and not callable(self.source):
            raise AgentError(
                f"VectorStore({self.source!r}): SqliteVec(...), PgVector(...), Qdrant(...), or a function "
                "or class that makes a DocumentStore"
            )
        if self.embedder is not None:
            check_source(self.embedder, repr(self))
        elif isinstance(self.source, StoreDescription):
            raise AgentError(
                f"{self!r} needs an embedder: VectorStore(..., embedder='openai:text-embedding-3-small'), or "
                "embedder=HashingEmbedder() for a demo"
            )
        _check_filter(self.filter)
        if not isinstance(self.retry, Retry):
            raise AgentError(f"VectorStore(retry={self.retry!r}): a Retry, such as Retry(attempts=3)")
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, int | float) or self.timeout <= 0:
            raise AgentError(f"VectorStore(timeout={self.timeout!r}): seconds, more than 0")
        for name, value in (("concurrency", self.concurrency), ("batch", self.batch)):
            if value is None and name == "concurrency":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise AgentError(f"VectorStore({name}={value!r}): a whole number from 1 on")


class _Opened:
    """What belongs to one event loop: the store, once somebody needs it, and the embedding model."""

    def __init__(self, described: VectorStore, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.embeddings = (
            Embeddings(described.embedder, described.embedding_settings, repr(described))
            if described.embedder is not None
            else None
        )
        self._described = described
        self._store: DocumentStore | None = None
        self._opening = asyncio.Lock()

    async def store(self) -> DocumentStore:
        """Raises what opening raises; the next call tries again."""
        async with self._opening:
            if self._store is None:
                made = await run_in_thread(self._described.source)
                if not isinstance(made, DocumentStore):
                    raise TypeError(f"{self._described!r}: made a {type(made).__name__}, not a DocumentStore")
                if not inspect.iscoroutinefunction(made.query):
                    raise StoreError(f"{type(made).__name__}.query: write async def query(...)")
                self._store = made
            return self._store

    async def close(self) -> None:
        async with self._opening:
            store, self._store = self._store, None
            if store is not None:
                await store.close()


def _embedded(document: Document, vectors: Iterator[list[float]]) -> Document:
    return document if document.embedding is not None else document.model_copy(update={"embedding": next(vectors)})


def _name(source: object) -> str:
    return repr(source) if isinstance(source, StoreDescription) else getattr(source, "__name__", repr(source))


def _check_filter(given: Filter) -> None:
    for name, value in given.items():
        if not isinstance(name, str) or not name or '"' in name:
            raise AgentError(f"VectorStore(filter=...): {name!r}: the name of a member of the metadata, without quotes")
        if not isinstance(value, str | int | float | bool):
            raise AgentError(f"VectorStore(filter={{{name!r}: {value!r}}}): text, a number, True or False")
