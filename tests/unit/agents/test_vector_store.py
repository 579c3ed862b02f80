"""What a VectorStore refuses when it is defined, and what it does with documents."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Embedder
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult

from parkway.agents import AgentError, Document, DocumentStore, HashingEmbedder, SqliteVec, StoreError, VectorStore


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs an embedder"),
        ({"embedder": "text-embedding-3-small"}, "'provider:model', such as"),
        ({"embedder": 3}, "a name, a pydantic-ai embedding model"),
        ({"embedder": HashingEmbedder}, "a name, a pydantic-ai embedding model"),
        ({"embedder": "a:b", "filter": {"lang": ["en"]}}, "text, a number, True or False"),
        ({"embedder": "a:b", "filter": {"": 1}}, "the name of a member"),
        ({"embedder": "a:b", "retry": 3}, "a Retry, such as"),
        ({"embedder": "a:b", "timeout": 0}, "seconds, more than 0"),
        ({"embedder": "a:b", "concurrency": 0}, "a whole number from 1 on"),
        ({"embedder": "a:b", "batch": None}, "a whole number from 1 on"),
    ],
)
def test_what_makes_no_sense_is_said_at_once(options: dict[str, Any], said: str) -> None:
    with pytest.raises(AgentError, match=said):
        VectorStore(SqliteVec("docs.db"), **options)


def test_a_store_is_a_description_or_a_function() -> None:
    with pytest.raises(AgentError, match="makes a DocumentStore"):
        VectorStore("docs.db", embedder="a:b")  # type: ignore[arg-type]


class Counting(HashingEmbedder):
    def __init__(self, dimensions: int = 16) -> None:
        super().__init__(dimensions)
        self.calls: list[tuple[str, int]] = []

    async def embed(self, inputs: str | Sequence[str], *, input_type: Any, settings: Any = None) -> EmbeddingResult:
        self.calls.append((input_type, len(inputs)))
        return await super().embed(inputs, input_type=input_type, settings=settings)


async def test_documents_are_embedded_in_batches_and_only_where_they_are_not(tmp_path: Path) -> None:
    embedder = Counting()
    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder=embedder, batch=4)
    bare = [Document(id=str(n), content=f"word{n}") for n in range(8)]
    await store.add([*bare, Document(id="own", content="x", embedding=[1.0] * 16)])
    assert embedder.calls == [("document", 4), ("document", 4)]
    assert (await store.query("word5"))[0].id == "5"
    assert embedder.calls[-1] == ("query", 1)
    await store.close()


@pytest.mark.parametrize("wrap", [Embedder, lambda model: lambda: model])
async def test_embedders_of_pydantic_ai_and_functions_are_taken(tmp_path: Path, wrap: Any) -> None:
    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder=wrap(HashingEmbedder(16)))
    await store.add([Document(id="a", content="word")])
    assert [each.id for each in await store.query("word")] == ["a"]
    await store.close()


@pytest.mark.parametrize(
    ("vectors", "said"),
    [([[0.0] * 3], "all zeros"), ([[float("nan")] * 3], "not finite"), ([], "0 embeddings for 1 texts")],
)
async def test_embeddings_of_no_use_are_refused(tmp_path: Path, vectors: list[list[float]], said: str) -> None:
    class Odd(HashingEmbedder):
        async def embed(self, inputs: Any, *, input_type: Any, settings: Any = None) -> EmbeddingResult:
            return EmbeddingResult(vectors, inputs=inputs, input_type=input_type, model_name="odd", provider_name="odd")

    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder=Odd())
    with pytest.raises(StoreError, match=said):
        await store.add([Document(id="a", content="word")])


async def test_a_function_that_makes_no_model_is_named(tmp_path: Path) -> None:
    def wrong() -> EmbeddingModel:
        return "openai:x"  # type: ignore[return-value]

    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder=wrong)
    with pytest.raises(TypeError, match=r"wrong\(\) gave a str"):
        await store.query("word")


async def test_a_document_needs_an_id(tmp_path: Path) -> None:
    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder=HashingEmbedder())
    with pytest.raises(StoreError, match="a document without an id"):
        await store.add([Document(content="word")])


async def test_a_store_of_ones_own_may_be_read_only_and_without_embedder() -> None:
    class Mine(DocumentStore):
        async def query(self, text: str, embedding: Any, **_: Any) -> list[Document]:
            assert embedding is None
            return [Document(content=text)]

    store = VectorStore(Mine)
    assert [each.content for each in await store.query("hello")] == ["hello"]
    with pytest.raises(StoreError, match="Mine takes no documents"):
        await store.add([Document(id="a", content="word")])
    with pytest.raises(StoreError, match="Mine gives no documents up"):
        await store.delete(["a"])
    await store.close()


async def test_a_store_whose_query_blocks_is_refused() -> None:
    class Mine(DocumentStore):
        def query(self, text: str, embedding: Any, **_: Any) -> Any:
            return []

    with pytest.raises(StoreError, match=r"Mine\.query: write async def query"):
        await VectorStore(Mine).query("hello")


async def test_the_hashing_embedder_knows_words_and_no_meanings() -> None:
    async def closeness(one: str, other: str) -> float:
        first, second = (await HashingEmbedder(256).embed([one, other], input_type="query")).embeddings
        return sum(a * b for a, b in zip(first, second, strict=True))

    assert await closeness("parked context", "the PARKED context") > 0.9
    assert await closeness("car", "automobile") < 0.3
    assert await closeness("", "?!") == pytest.approx(1.0)
    with pytest.raises(AgentError):
        HashingEmbedder(2)
