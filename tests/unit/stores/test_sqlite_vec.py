"""sqlite-vec: a file."""

from pathlib import Path

import pytest
from behaviour import StoreBehaviour

from parkway.agents import AgentError, Document, HashingEmbedder, SqliteVec, VectorStore
from parkway.agents.stores import StoreError


class TestSqliteVec(StoreBehaviour):
    @pytest.fixture
    def described(self, tmp_path: Path) -> SqliteVec:
        return SqliteVec(tmp_path / "docs.db")


async def test_a_query_makes_no_file(tmp_path: Path) -> None:
    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder=HashingEmbedder())
    with pytest.raises(StoreError):
        await store.query("anything")
    assert not (tmp_path / "docs.db").exists()


async def test_readers_go_on_while_somebody_writes(tmp_path: Path) -> None:
    import apsw

    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder=HashingEmbedder())
    await store.add([Document(id="a", content="one")])
    writer = apsw.Connection(str(tmp_path / "docs.db"))
    writer.execute("BEGIN IMMEDIATE; DELETE FROM documents")
    assert [each.id for each in await store.query("one")] == ["a"]
    writer.execute("ROLLBACK")
    writer.close()
    await store.close()


async def test_two_tables_of_one_file_are_two_stores(tmp_path: Path) -> None:
    one = VectorStore(SqliteVec(tmp_path / "docs.db", table="one"), embedder=HashingEmbedder(16))
    two = VectorStore(SqliteVec(tmp_path / "docs.db", table="two"), embedder=HashingEmbedder(32))
    await one.add([Document(id="a", content="word")])
    await two.add([Document(id="b", content="word")])
    assert [each.id for each in await one.query("word")] == ["a"]
    assert [each.id for each in await two.query("word")] == ["b"]
    await one.close()
    await two.close()


@pytest.mark.parametrize(
    ("path", "table"), [(":memory:", "documents"), ("", "x"), ("a.db", "drop table"), ("a.db", "")]
)
def test_what_makes_no_sense_is_said(path: str, table: str) -> None:
    with pytest.raises(AgentError):
        SqliteVec(path, table)
