"""Agents with vector stores."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents import note

from parkway.agents import (
    Agent,
    Context,
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    Document,
    DocumentStore,
    Event,
    HashingEmbedder,
    Retry,
    SqliteVec,
    VectorStore,
    action,
)


class Moody(DocumentStore):
    """Answers as long as the file `down` is not there."""

    def __init__(self) -> None:
        self._folder = Path(os.environ["TEST_NOTES"])
        self._check("open")

    async def query(self, text: str, embedding: Any, *, max_results: int, where: Any) -> Sequence[Document]:
        self._check("query")
        return [Document(id="a", content=f"about {text}", score=1.0)]

    async def close(self) -> None:
        note("closed", "1")

    def _check(self, what: str) -> None:
        note(what, "1")
        if (self._folder / "down").exists():
            raise ConnectionError("secret-host refused")


class Rag(Agent):
    """`manual` (in the current folder) is filled by `parkway index`, `moody` is down at times, `brief` gives up soon."""

    manual = VectorStore(SqliteVec("manual.db"), embedder=HashingEmbedder(128))
    moody = VectorStore(Moody, retry=Retry(attempts=1000, backoff=0.2, max_backoff=0.2), concurrency=3)
    brief = VectorStore(Moody, retry=Retry(attempts=3, backoff=0.05))

    @action("question", external=True)
    async def search(self, event: Event, ctx: Context) -> None:
        ctx.send(ContextRetrievalRequestEvent(**event.attributes, user_context={"asked": event.id}))

    @action("type == EventType.ContextRetrievalResponseEvent && has(user_context.asked)")
    async def found(self, event: ContextRetrievalResponseEvent, ctx: Context) -> None:
        documents = [{"id": each.id, "score": each.score, **each.metadata} for each in event.documents]
        ctx.output({"query": event.query, "asked": (event.user_context or {})["asked"], "documents": documents})
