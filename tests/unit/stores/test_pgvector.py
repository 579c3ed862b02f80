"""pgvector, on a real PostgreSQL."""

import itertools
from collections.abc import Iterator

import psycopg
import pytest
from behaviour import StoreBehaviour, document
from postgres import Postgres

from parkway.agents import AgentError, HashingEmbedder, PgVector, VectorStore
from parkway.agents.stores import StoreError

TABLES = (f"docs_{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    server = Postgres()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def dsn(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DOCS_DSN", server.dsn)
    return server.dsn


class TestPgVector(StoreBehaviour):
    @pytest.fixture
    def described(self, dsn: str) -> PgVector:
        return PgVector(next(TABLES), dsn_env="DOCS_DSN")


async def test_a_server_that_was_away_is_found_again(server: Postgres, dsn: str) -> None:
    store = VectorStore(PgVector(next(TABLES), dsn_env="DOCS_DSN"), embedder=HashingEmbedder())
    await store.add([document("a")])
    server.halt()
    try:
        for _ in range(2):  # by a connection that was open, and by a new one
            with pytest.raises(psycopg.OperationalError):
                await store.query("routers")
    finally:
        server.start()
    assert [each.id for each in await store.query("routers")] == ["a"]
    await store.close()


async def test_a_table_that_was_made_anew_is_seen_after_one_error(dsn: str) -> None:
    table = next(TABLES)
    store = VectorStore(PgVector(table, dsn_env="DOCS_DSN"), embedder=HashingEmbedder(64))
    await store.add([document("a")])
    await store.query("routers")
    other = VectorStore(PgVector(table, dsn_env="DOCS_DSN"), embedder=HashingEmbedder(32))
    with psycopg.connect(dsn) as connection:
        connection.execute(f"DROP TABLE {table}")
    await other.add([document("a")])
    with pytest.raises(psycopg.DataError, match="different vector dimensions"):
        await store.query("routers")
    with pytest.raises(StoreError, match="holds embeddings of 32 dimensions"):
        await store.query("routers")
    await store.close()
    await other.close()


async def test_a_table_of_another_kind_is_left_alone(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE customers (id text)")
    store = VectorStore(PgVector("public.customers", dsn_env="DOCS_DSN"), embedder=HashingEmbedder())
    with pytest.raises(StoreError, match="has no column `embedding` of the type vector"):
        await store.add([document("a")])
    await store.close()


async def test_an_index_is_used_for_queries(dsn: str) -> None:
    """The statement of the docs makes one that fits ours."""
    table = next(TABLES)
    store = VectorStore(PgVector(table, dsn_env="DOCS_DSN"), embedder=HashingEmbedder(64))
    await store.add([document("a"), document("b")])
    with psycopg.connect(dsn) as connection:
        connection.execute(f"CREATE INDEX ON {table} USING hnsw (embedding vector_cosine_ops)")
    assert (await store.query("which triggers do routers match"))[0].id == "a"
    with psycopg.connect(dsn) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = connection.execute(
            f"EXPLAIN SELECT id, content, metadata, embedding <=> '{[1] * 64}'::vector AS distance FROM {table} "
            "WHERE true ORDER BY distance LIMIT 3"
        ).fetchall()
    assert "Index Scan" in str(plan)
    await store.close()


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(AgentError, match="the environment variable NO_SUCH_DSN is not set"):
        VectorStore(PgVector("docs", dsn_env="NO_SUCH_DSN"), embedder=HashingEmbedder()).check()


def test_a_secret_in_place_of_a_variable_is_not_quoted() -> None:
    with pytest.raises(AgentError, match="the name of an environment variable") as raised:
        PgVector("docs", dsn_env="postgresql://me:secret@host/db")
    assert "secret" not in str(raised.value)
