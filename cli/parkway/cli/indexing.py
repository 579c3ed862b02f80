"""Fills a vector store with the texts of files."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkway.agents.vector_store import VectorStore
from parkway.cli.text_files import Cutting, parts_of
from parkway.schemas.errors import ParkwayError
from parkway.schemas.events import Document

_BLOCK = 100  # ids that are looked for at once


@dataclass(slots=True)
class Counts:
    """What was done so far. `hidden` documents do not fit the store's own filter: no query finds them."""

    files: int = 0
    documents: int = 0
    deleted: int = 0
    hidden: int = 0


class Indexer:
    """Puts documents in by batches, under ids that stay: the same file again replaces what it gave.

    Chunks that a file had once, and has no longer, are taken out. Holds one batch. Raises what the store and its
    embedder raise when `retry` of the store is at its end; what is in by then is complete.
    """

    def __init__(self, store: VectorStore, cutting: Cutting, counts: Counts, tell: Callable[[str], None]) -> None:
        self._store = store
        self._cutting = cutting
        self._counts = counts
        self._tell = tell
        self._batch: list[Document] = []
        self._ends: dict[str, int] = {}  # base of the ids -> its chunks

    async def run(self, files: Iterable[Path], read: Callable[[int], None]) -> None:
        for path in files:
            for part in parts_of(path, self._cutting, read):
                chunks = 0
                for document in part.chunks:
                    chunks += 1
                    await self._add(document)
                self._ends[part.base] = chunks
                if len(self._ends) >= _BLOCK:
                    await self._delete_rests()
            self._counts.files += 1
        await self._flush()
        await self._delete_rests()

    async def _add(self, document: Document) -> None:
        self._counts.hidden += not _fits(document.metadata, self._store)
        self._batch.append(document)
        if len(self._batch) >= self._store.batch:
            await self._flush()

    async def _flush(self) -> None:
        if self._batch:
            await self._tried(lambda: self._store.add(self._batch))
            self._counts.documents += len(self._batch)
            self._batch = []

    async def _delete_rests(self) -> None:
        """A text's chunks are numbered without gaps: one beyond the last that is not there is the end."""
        ends, self._ends = self._ends, {}
        if not await self._delete([f"{base}#{chunks}" for base, chunks in ends.items()]):
            return
        for base, chunks in ends.items():
            start = chunks + 1
            while await self._delete([f"{base}#{number}" for number in range(start, start + _BLOCK)]):
                start += _BLOCK

    async def _delete(self, ids: list[str]) -> int:
        deleted = await self._tried(lambda: self._store.delete(ids))
        self._counts.deleted += deleted
        return int(deleted)

    async def _tried(self, call: Callable[[], Any]) -> Any:
        retry = self._store.retry
        attempt = 1
        while True:
            try:
                return await call()
            except ParkwayError:
                raise
            except retry.on as error:
                if attempt >= retry.attempts:
                    raise
                wait = retry.wait_after(attempt)
                self._tell(f"{type(error).__name__}: {error}; again in {wait:.0f} s")
                await asyncio.sleep(wait)
                attempt += 1


def _fits(metadata: dict[str, Any], store: VectorStore) -> bool:
    return all(_equals(metadata.get(name), value) for name, value in store.filter.items())


def _equals(given: Any, value: Any) -> bool:
    if isinstance(given, list):
        return any(_equals(each, value) for each in given)
    return given == value and isinstance(given, bool) == isinstance(value, bool)
