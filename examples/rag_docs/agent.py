"""An agent that answers questions about Parkway from Parkway's own documentation."""

import os

from examples.rag_docs.model import chat_model
from pydantic import BaseModel

from parkway.agents import (
    Agent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    ChatResponseEvent,
    Context,
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    HashingEmbedder,
    SqliteVec,
    VectorStore,
    action,
)


class Question(BaseModel):
    text: str


class Docs(Agent):
    """question -> documents of the manual -> an answer by a chat model, with its sources."""

    manual = VectorStore(
        SqliteVec(".parkway/manual.db"),
        # Hashed words find words, not meanings: good enough to try this without a key.
        embedder=os.environ.get("PARKWAY_EMBEDDER") or HashingEmbedder(),
    )
    assistant = ChatModel(
        chat_model,
        instructions=(
            "Answer the question in one to three sentences, from the excerpts only. "
            "When they do not hold the answer, say so."
        ),
    )

    @action("question", external=True)
    async def search(self, question: Question, ctx: Context) -> None:
        ctx.send(
            ContextRetrievalRequestEvent(
                query=question.text,
                vector_store="manual",
                max_results=4,
                user_context={"question": question.text},
            )
        )

    @action("type == EventType.ContextRetrievalResponseEvent && has(user_context.question)")
    async def ask(self, found: ContextRetrievalResponseEvent, ctx: Context) -> None:
        question = (found.user_context or {})["question"]
        excerpts = [f"[{document.metadata['source']}]\n{document.content}" for document in found.documents]
        sources = list(dict.fromkeys(document.metadata["source"] for document in found.documents))
        ctx.send(
            ChatRequestEvent(
                model="assistant",
                messages=[ChatMessage.user("\n\n".join([f"Question: {question}", *excerpts]))],
                user_context={"question": question, "sources": sources},
            )
        )

    @action("type == EventType.ChatResponseEvent && has(user_context.sources)")
    async def answer(self, event: ChatResponseEvent, ctx: Context) -> None:
        answer = event.response.content if event.success else f"no answer: {event.error and event.error.message}"
        ctx.output({**(event.user_context or {}), "answer": answer})
