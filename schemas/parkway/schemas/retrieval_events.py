"""A request for documents, and the documents."""

from typing import Any, ClassVar

from pydantic import ConfigDict, Field, StrictFloat, StrictInt

from parkway.schemas.event_types import EventType
from parkway.schemas.typed_event import TypedEvent
from parkway.schemas.user_context import UserContext
from parkway.schemas.wire_model import ListOf, WireModel


class Document(WireModel):
    """A document of a vector store. What `score` means (distance, similarity) is the store's own."""

    model_config = ConfigDict(extra="allow")

    content: str
    metadata: dict[str, Any] = Field(default_factory=dict)
    id: str | None = None
    embedding: list[StrictFloat] | None = Field(default=None, fail_fast=True)
    score: StrictFloat | None = None


class ContextRetrievalRequestEvent(TypedEvent):
    """Asks the vector store `vector_store` for at most `max_results` documents."""

    EVENT_TYPE: ClassVar[str] = EventType.ContextRetrievalRequestEvent

    query: str
    vector_store: str
    max_results: StrictInt = Field(default=3, ge=1)
    user_context: UserContext = None


class ContextRetrievalResponseEvent(TypedEvent):
    """Documents found, best first. A query that failed has no response (DESIGN 7.5)."""

    EVENT_TYPE: ClassVar[str] = EventType.ContextRetrievalResponseEvent

    request_id: str
    query: str
    documents: ListOf[Document]
    user_context: UserContext = None
