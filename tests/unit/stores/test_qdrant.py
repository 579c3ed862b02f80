"""Qdrant, by its client's local mode."""

from pathlib import Path

import pytest
from behaviour import StoreBehaviour

from parkway.agents import AgentError, HashingEmbedder, Qdrant, VectorStore
from parkway.agents.stores import StoreError


class TestQdrant(StoreBehaviour):
    @pytest.fixture
    def described(self, tmp_path: Path) -> Qdrant:
        return Qdrant("docs", path=str(tmp_path / "qdrant"))


async def test_a_collection_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(tmp_path))
    client.create_collection("docs", models.VectorParams(size=4, distance=models.Distance.DOT))
    client.close()
    store = VectorStore(Qdrant("docs", path=str(tmp_path)), embedder=HashingEmbedder(8))
    with pytest.raises(StoreError, match="another distance than cosine"):
        await store.query("anything")
    await store.close()


async def test_a_folder_in_use_is_said(tmp_path: Path) -> None:
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(tmp_path))
    store = VectorStore(Qdrant("docs", path=str(tmp_path)), embedder=HashingEmbedder(8))
    with pytest.raises(StoreError, match="already accessed by another instance"):
        await store.query("anything")
    client.close()


async def test_a_server_that_is_not_there_is_an_error_of_the_query_only() -> None:
    store = VectorStore(Qdrant("docs", url="http://127.0.0.1:9"), embedder=HashingEmbedder())
    store.check()
    with pytest.raises(Exception, match="refused") as raised:
        await store.query("anything")
    assert not isinstance(raised.value, StoreError)
    await store.close()


def test_a_missing_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_URL", raising=False)
    with pytest.raises(AgentError, match="the environment variable QDRANT_URL is not set"):
        VectorStore(Qdrant("docs"), embedder=HashingEmbedder()).check()


def test_a_server_and_a_folder_are_not_both() -> None:
    with pytest.raises(AgentError, match="not both"):
        Qdrant("docs", url="http://localhost:6333", path="here")
