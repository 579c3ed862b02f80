"""`DocumentStore`: what a vector store does, one instance per process."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from parkway.schemas.errors import ParkwayError
from parkway.schemas.events import Document

Scalar: TypeAlias = str | int | float | bool
Filter: TypeAlias = Mapping[str, Scalar]
"""What metadata must say: every member equal, as in JSON (1 is 1.0, and not true).

Metadata that is a list fits when one of its items does: `{"tags": "kafka"}` finds `{"tags": ["kafka", "ops"]}`.
"""


class StoreError(ParkwayError):
    """A store that cannot do what it is asked for, now or later: another try will not help.

    The message quotes nothing of a query or a document.
    """


class DocumentStore(ABC):
    """An open vector store; all methods run on the event loop, many calls at once, so none may block.

    What may pass (no connection, a timeout) is raised as it comes and tried again; `StoreError` is final.
    """

    @abstractmethod
    async def query(
        self, text: str, embedding: Sequence[float] | None, *, max_results: int, where: Filter
    ) -> Sequence[Document]:
        """Give the documents closest to `text`, best first; `score` should be there, and grow with likeness.

        `embedding` is that of `text`, of the vector store's embedder; None when it has none.
        """

    async def add(self, documents: Sequence[Document]) -> None:  # noqa: ARG002
        """Put documents in; one with the id of another replaces it. `id` is set, `embedding` as in `query`."""
        raise StoreError(f"{type(self).__name__} takes no documents: it has no method add")

    async def delete(self, ids: Sequence[str]) -> int:  # noqa: ARG002
        """Take documents out, and say how many were there."""
        raise StoreError(f"{type(self).__name__} gives no documents up: it has no method delete")

    async def close(self) -> None:  # noqa: B027  a store may have nothing to close
        """Close connections. Nothing else is called after it."""
