"""Documents in Qdrant: a server, or its client's local mode for tests and small things.

A document is a point: the payload has `content`, `metadata` and `id` (points themselves have UUIDs, made of the id).
"""

import os
import threading
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from parkway.agents.errors import AgentError
from parkway.agents.stores.base import DocumentStore, Filter, Scalar, StoreError
from parkway.agents.stores.description import StoreDescription, check_variable, from_environment
from parkway.agents.stores.vectors import check_dimension, embedding_of, not_there, query_embedding
from parkway.agents.threads import run_in_thread
from parkway.schemas.events import Document

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

_POINTS: Final = uuid.UUID("8e2f2a4e-37a6-4e8e-9c8b-4f1f6d0f6a11")  # the namespace of our points' ids
_TIMEOUT: Final = 60  # seconds of one HTTP request: a thread that nobody waits for any more ends by it


@dataclass(frozen=True, slots=True)
class Qdrant(StoreDescription):
    """`Qdrant("docs")`: documents in this collection. Extra: `parkway[qdrant]`.

    The server's address is `url`, or stands in the environment variable `url_env`; its key in `api_key_env`, if it
    wants one. `path`: no server, but a folder, which one process at a time can use. Raises AgentError for what makes
    no sense.
    """

    collection: str
    url: str | None = None
    url_env: str = "QDRANT_URL"
    api_key_env: str = "QDRANT_API_KEY"
    path: str | None = None

    EXTRA: ClassVar[str] = "qdrant"
    PACKAGES: ClassVar[tuple[str, ...]] = ("qdrant_client",)

    def __post_init__(self) -> None:
        if not isinstance(self.collection, str) or not self.collection:
            raise AgentError(f"Qdrant({self.collection!r}): the name of a collection")
        if self.url is not None and self.path is not None:
            raise AgentError("Qdrant(url=..., path=...): a server or a folder, not both")
        check_variable("Qdrant(url_env=...)", self.url_env)
        check_variable("Qdrant(api_key_env=...)", self.api_key_env)

    def check(self) -> None:
        StoreDescription.check(self)
        if self.path is None and self.url is None:
            from_environment(self, self.url_env)

    def open(self) -> DocumentStore:
        from qdrant_client import QdrantClient  # noqa: PLC0415  an extra

        if self.path is not None:
            try:
                return _Store(QdrantClient(path=self.path, force_disable_check_same_thread=True), self.collection)
            except RuntimeError as error:  # its lock is another process's
                raise StoreError(f"Qdrant in the folder {self.path}: {str(error).splitlines()[0]}") from error
        url = self.url or from_environment(self, self.url_env)
        key = os.environ.get(self.api_key_env) or None
        # Its look at the server's version would take a request, now, and warn where there is none.
        client = QdrantClient(url=url, api_key=key, timeout=_TIMEOUT, check_compatibility=False)
        return _Store(client, self.collection)


class _Store(DocumentStore):
    """The client's calls block: each runs in a thread, in local mode one after another (it is not thread-safe)."""

    def __init__(self, client: "QdrantClient", collection: str) -> None:
        from qdrant_client.local.qdrant_local import QdrantLocal  # noqa: PLC0415

        self._client = client
        self._collection = collection
        self._where = f"qdrant: collection {collection!r}"
        self._held: int | None = None
        self._turn: AbstractContextManager[Any] = (
            threading.Lock() if isinstance(client._client, QdrantLocal) else nullcontext()  # noqa: SLF001  nobody else knows
        )

    async def query(
        self, text: str, embedding: Sequence[float] | None, *, max_results: int, where: Filter
    ) -> Sequence[Document]:
        del text
        vector = query_embedding(embedding, self._where)
        found: list[Document] = await run_in_thread(self._query, vector, max_results, where)
        return found

    async def add(self, documents: Sequence[Document]) -> None:
        if documents:
            await run_in_thread(self._add, documents)

    async def delete(self, ids: Sequence[str]) -> int:
        count: int = await run_in_thread(self._delete, ids)
        return count

    async def close(self) -> None:
        await run_in_thread(self._client.close)

    def _query(self, vector: Sequence[float], max_results: int, where: Filter) -> list[Document]:
        from qdrant_client import models  # noqa: PLC0415

        wanted = models.Filter(must=[_fits(name, value) for name, value in where.items()])
        with self._turn:
            if self._held != len(vector):  # a look at the collection only where it is not known to fit
                self._held = self._dimension()
                check_dimension(self._where, self._held, len(vector))
            try:
                found = self._client.query_points(
                    self._collection, query=list(vector), query_filter=wanted, limit=max_results, with_payload=True
                )
            except BaseException:
                self._held = None  # somebody may have made the collection anew
                raise
        return sorted(
            (_document(point) for point in found.points), key=lambda document: (-(document.score or 0.0), document.id)
        )

    def _add(self, documents: Sequence[Document]) -> None:
        from qdrant_client import models  # noqa: PLC0415

        points = [
            models.PointStruct(
                id=_point(str(document.id)),
                vector=list(embedding_of(document, self._where)),
                payload={"id": document.id, "content": document.content, "metadata": document.metadata},
            )
            for document in documents
        ]
        with self._turn:
            if not self._client.collection_exists(self._collection):
                size = len(embedding_of(documents[0], self._where))
                vectors = models.VectorParams(size=size, distance=models.Distance.COSINE)
                self._client.create_collection(self._collection, vectors_config=vectors)
            held = self._dimension()
            for document in documents:
                check_dimension(self._where, held, len(embedding_of(document, self._where)))
            self._client.upsert(self._collection, points, wait=True)

    def _delete(self, ids: Sequence[str]) -> int:
        from qdrant_client import models  # noqa: PLC0415

        with self._turn:
            if not self._client.collection_exists(self._collection):
                return 0
            there = self._client.retrieve(self._collection, [_point(each) for each in ids], with_payload=False)
            points: list[Any] = [point.id for point in there]
            if points:
                self._client.delete(self._collection, models.PointIdsList(points=points), wait=True)
        return len(points)

    def _dimension(self) -> int:
        """Raises StoreError where there is no such collection, or one of another kind."""
        from qdrant_client import models  # noqa: PLC0415

        if not self._client.collection_exists(self._collection):
            raise not_there(self._where)
        vectors = self._client.get_collection(self._collection).config.params.vectors
        if not isinstance(vectors, models.VectorParams) or vectors.distance != models.Distance.COSINE:
            raise StoreError(
                f"{self._where}: has named vectors, or another distance than cosine: choose another collection"
            )
        return vectors.size


def _fits(name: str, value: Scalar) -> "models.FieldCondition":
    from qdrant_client import models  # noqa: PLC0415

    key = f'metadata."{name}"'
    if isinstance(value, str | bool):
        return models.FieldCondition(key=key, match=models.MatchValue(value=value))
    return models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))  # 1 and 1.0 alike


def _point(document_id: str) -> str:
    return str(uuid.uuid5(_POINTS, document_id))


def _document(point: "models.ScoredPoint") -> Document:
    payload = point.payload or {}
    return Document(
        id=str(payload.get("id", point.id)),
        content=str(payload.get("content", "")),
        metadata=payload.get("metadata") or {},
        score=float(point.score),
    )
