"""What every vector store does: written once, inherited by the tests of each."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest

from parkway.agents import AgentError, Document, HashingEmbedder, VectorStore
from parkway.agents.stores import StoreDescription, StoreError

TEXTS = {
    "a": ("Routers match events against triggers.", {"lang": "en", "year": 2024, "draft": False, "tags": ["kafka"]}),
    "b": ("Workers run the actions of an agent.", {"lang": "en", "year": 2025, "draft": True, "tags": ["kafka", "ai"]}),
    "c": ("Router vergleichen Ereignisse mit Triggern.", {"lang": "de", "year": 2024.0, "draft": 1, 'odd.key "x': 1}),
}


def document(key: str) -> Document:
    content, metadata = TEXTS[key]
    return Document(id=key, content=content, metadata=metadata)


class StoreBehaviour:
    """A test class that inherits this has a fixture `described`: a store that does not exist yet."""

    @pytest.fixture
    async def store(self, described: StoreDescription) -> Any:
        store = VectorStore(described, embedder=HashingEmbedder(64), batch=2)
        yield store
        await store.close()

    async def filled(self, store: VectorStore, keys: Sequence[str] = ("a", "b", "c")) -> VectorStore:
        await store.add([document(key) for key in keys])
        return store

    async def test_the_closest_document_comes_first_with_all_that_it_was_given(self, store: VectorStore) -> None:
        await self.filled(store)
        found = await store.query("which triggers do routers match?", max_results=2)
        assert [each.id for each in found] == ["a", "b"] or [each.id for each in found] == ["a", "c"]
        assert found[0].content == TEXTS["a"][0]
        assert found[0].metadata == TEXTS["a"][1]
        assert found[0].embedding is None
        assert found[0].score is not None
        assert found[1].score is not None
        assert 1 >= found[0].score > found[1].score >= -1

    async def test_the_score_is_the_cosine(self, described: StoreDescription) -> None:
        store = VectorStore(described, embedder=HashingEmbedder(8))
        vectors = {"same": [3.0, 0, 0, 0, 0, 0, 0, 0], "right": [0, 2.0, 0, 0, 0, 0, 0, 0], "not": [-1.0] + [0.0] * 7}
        await store.add([Document(id=key, content=key, embedding=vector) for key, vector in vectors.items()])
        found = await store.search("", [0.5] + [0.0] * 7, 5)
        assert {each.id: round(math.nan if each.score is None else each.score, 5) for each in found} == {
            "same": 1,
            "right": 0,
            "not": -1,
        }
        assert [each.id for each in found] == ["same", "right", "not"]
        await store.close()

    async def test_the_same_id_again_replaces_and_doubles_nothing(self, store: VectorStore) -> None:
        await self.filled(store)
        await self.filled(store)
        await store.add([Document(id="b", content="Something else now.", metadata={"new": True})])
        found = await store.query("something", max_results=10)
        assert sorted(str(each.id) for each in found) == ["a", "b", "c"]
        assert found[0].content == "Something else now."
        assert found[0].metadata == {"new": True}

    async def test_one_id_twice_in_one_batch_is_one_document(self, store: VectorStore) -> None:
        await store.add([Document(id="x", content="first"), Document(id="x", content="second")])
        assert [each.content for each in await store.query("first", max_results=5)] == ["second"]

    @pytest.mark.parametrize(
        ("where", "ids"),
        [
            ({"lang": "en"}, ["a", "b"]),
            ({"lang": "de"}, ["c"]),
            ({"lang": "fr"}, []),
            ({"lang": "en", "year": 2024}, ["a"]),
            ({"year": 2024}, ["a", "c"]),
            ({"year": 2025.0}, ["b"]),
            ({"draft": True}, ["b"]),
            ({"draft": 1}, ["c"]),
            ({"tags": "ai"}, ["b"]),
            ({"tags": "kafka"}, ["a", "b"]),
            ({"missing": "x"}, []),
        ],
    )
    async def test_a_filter_lets_through_what_equals_it(
        self, described: StoreDescription, where: dict[str, Any], ids: list[str]
    ) -> None:
        store = VectorStore(described, embedder=HashingEmbedder(64), filter=where)
        await self.filled(store)
        # One result asked for: the filter comes before the bound.
        assert len(await store.query("routers", max_results=1)) == min(1, len(ids))
        assert sorted(str(each.id) for each in await store.query("routers", max_results=10)) == ids
        await store.close()

    async def test_deleted_documents_are_gone(self, store: VectorStore) -> None:
        await self.filled(store)
        assert await store.delete(["a", "nobody", "c"]) == 2
        assert await store.delete(["a"]) == 0
        assert [each.id for each in await store.query("routers", max_results=10)] == ["b"]

    async def test_nothing_is_deleted_where_nothing_is(self, store: VectorStore) -> None:
        assert await store.delete(["a"]) == 0

    async def test_another_process_finds_what_was_added(self, store: VectorStore, described: StoreDescription) -> None:
        await self.filled(store)
        await store.close()  # Qdrant's local folder is one process's at a time
        other = VectorStore(described, embedder=HashingEmbedder(64))
        assert len(await other.query("routers", max_results=10)) == 3
        await other.close()

    async def test_a_store_that_nobody_filled_says_how_to(self, store: VectorStore) -> None:
        with pytest.raises(StoreError, match=r"does not exist: fill it with `parkway index"):
            await store.query("routers")

    @pytest.mark.parametrize("when", ["query", "add"])
    async def test_an_embedder_of_other_dimensions_is_told(
        self, store: VectorStore, described: StoreDescription, when: str
    ) -> None:
        await self.filled(store)
        await store.close()
        other = VectorStore(described, embedder=HashingEmbedder(32))
        with pytest.raises(StoreError, match=r"holds embeddings of 64 dimensions, and the embedder gives 32"):
            await (other.query("routers") if when == "query" else other.add([document("a")]))
        await other.close()

    async def test_odd_texts_come_back_as_they_were(self, store: VectorStore) -> None:
        odd = Document(
            id="ödd '\"%s {}", content="'; DROP TABLE documents; -- \U0001f697\n%s", metadata={"a'b": {"c": [1]}}
        )
        await store.add([odd])
        (found,) = await store.query("documents")
        assert (found.id, found.content, found.metadata) == (odd.id, odd.content, odd.metadata)

    async def test_many_at_once(self, store: VectorStore) -> None:
        await self.filled(store)
        found = await asyncio.gather(*(store.query("routers triggers match", max_results=1) for _ in range(20)))
        assert {each.id for (each,) in found} == {"a"}

    async def test_after_close_it_opens_again(self, store: VectorStore) -> None:
        await self.filled(store)
        await store.close()
        await store.close()
        assert len(await store.query("routers", max_results=10)) == 3

    def test_a_missing_package_names_the_extra(
        self, described: StoreDescription, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(type(described), "PACKAGES", ("no_such_package",))
        with pytest.raises(AgentError, match=rf"pip install 'parkway\[{described.EXTRA}\]'"):
            VectorStore(described, embedder=HashingEmbedder()).check()
