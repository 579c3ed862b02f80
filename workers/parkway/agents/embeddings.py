"""Embeddings of texts, by pydantic-ai's embedding models."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic_ai.embeddings import Embedder, EmbeddingModel, EmbeddingSettings, infer_embedding_model

from parkway.agents.errors import AgentError
from parkway.agents.stores.base import StoreError
from parkway.agents.threads import run_in_thread

EmbedderSource: TypeAlias = str | EmbeddingModel | Embedder | Callable[[], EmbeddingModel]
"""A name such as `openai:text-embedding-3-small`, a model or embedder of pydantic-ai, or a function that makes one."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Embeddings, one per text, and what they cost. `model` is the provider's own name of its model."""

    vectors: list[list[float]]
    model: str
    tokens: int


class Embeddings:
    """One embedding model. It is made at its first call, off the event loop: that imports an SDK and reads keys."""

    def __init__(self, source: EmbedderSource, settings: EmbeddingSettings | None, where: str) -> None:
        """`where` begins the errors. Raises AgentError for what is no source."""
        check_source(source, where)
        self.label = label_of(source)
        self._source = source
        self._settings = settings
        self._where = where
        self._model: Embedder | EmbeddingModel | None = None
        self._making = asyncio.Lock()

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"]) -> Embedded:
        """One call for all texts. Raises what the model raises, and StoreError for embeddings of no use."""
        async with self._making:
            if self._model is None:
                self._model = await run_in_thread(_make, self._source)
        result = await self._model.embed(texts, input_type=kind, settings=self._settings)
        vectors = [[float(number) for number in vector] for vector in result.embeddings]
        if len(vectors) != len(texts):
            raise StoreError(f"{self._where}: {self.label} gave {len(vectors)} embeddings for {len(texts)} texts")
        for vector in vectors:
            # Such a one is as close to everything as to nothing.
            if not any(vector) or not all(math.isfinite(number) for number in vector):
                raise StoreError(f"{self._where}: {self.label} gave an embedding that is all zeros, or not finite")
        return Embedded(vectors, result.model_name, result.usage.input_tokens)


def check_source(source: object, where: str) -> None:
    """Raise AgentError for what is no EmbedderSource."""
    if isinstance(source, str):
        provider, _, name = source.partition(":")
        if not (provider and name):
            raise AgentError(f"{where}: embedder={source!r}: 'provider:model', such as 'openai:text-embedding-3-small'")
    elif not isinstance(source, EmbeddingModel | Embedder) and (isinstance(source, type) or not callable(source)):
        raise AgentError(
            f"{where}: embedder={source!r}: a name, a pydantic-ai embedding model or embedder, or a function without "
            "parameters that makes one"
        )


def label_of(source: EmbedderSource) -> str:
    """The model as `provider:model`, or the name of the function that makes it."""
    if isinstance(source, Embedder):
        source = source.model
    if isinstance(source, str):
        return source
    if isinstance(source, EmbeddingModel):
        return f"{source.system}:{source.model_name}"
    return getattr(source, "__name__", type(source).__name__)


def _make(source: EmbedderSource) -> Embedder | EmbeddingModel:
    if isinstance(source, Embedder | EmbeddingModel):
        return source
    if isinstance(source, str):
        model = infer_embedding_model(source)
        # The retries are ours: a client that tries again by itself would do so within our timeout, unseen.
        client: Any = getattr(model, "_client", None)
        if getattr(client, "max_retries", None):
            client.max_retries = 0
        return model
    made = source()
    if not isinstance(made, EmbeddingModel | Embedder):
        raise TypeError(f"{label_of(source)}() gave a {type(made).__name__}, not a pydantic-ai EmbeddingModel")
    return made
