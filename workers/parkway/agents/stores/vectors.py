"""What every store says about embeddings that do not fit it."""

from collections.abc import Sequence

from parkway.agents.stores.base import StoreError
from parkway.schemas.events import Document


def embedding_of(document: Document, where: str) -> Sequence[float]:
    """The document's embedding. Raises StoreError where there is none."""
    if document.embedding is None:
        raise StoreError(f"{where}: document {document.id!r} has no embedding: give the VectorStore an embedder")
    return document.embedding


def query_embedding(embedding: Sequence[float] | None, where: str) -> Sequence[float]:
    """The query's embedding. Raises StoreError where there is none."""
    if embedding is None:
        raise StoreError(f"{where}: a query needs an embedding: give the VectorStore an embedder")
    return embedding


def check_dimension(where: str, held: int | None, given: int) -> None:
    """Raise StoreError when embeddings of `given` numbers do not belong into a store of others (None: it is empty)."""
    if held is not None and held != given:
        raise StoreError(
            f"{where}: holds embeddings of {held} dimensions, and the embedder gives {given}: use the embedder that it "
            "was filled with, or index again into an empty one"
        )


def not_there(where: str) -> StoreError:
    """The error of a query to what nobody has filled."""
    return StoreError(f"{where} does not exist: fill it with `parkway index MODULE:AGENT STORE FILE...`")
