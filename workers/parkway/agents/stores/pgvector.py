"""Documents in PostgreSQL, with pgvector 0.5 or later.

The table is (id text, content text, metadata jsonb, embedding vector(n)), made by the first documents. A query compares
with every row that the filter lets through, unless you make an index: docs/agents/retrieval.md says how.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from parkway.agents.stores.base import DocumentStore, Filter, StoreError
from parkway.agents.stores.description import StoreDescription, check_table, check_variable, from_environment
from parkway.agents.stores.vectors import check_dimension, embedding_of, not_there, query_embedding
from parkway.schemas import jsonio
from parkway.schemas.events import Document

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_CONNECTIONS: Final = 10
_CONNECT: Final = 10  # seconds that a server has to answer


@dataclass(frozen=True, slots=True)
class PgVector(StoreDescription):
    """`PgVector("docs", dsn_env="DOCS_DSN")`: documents in this table. Extra: `parkway[pgvector]`.

    The environment variable holds the connection string (`postgresql://user:password@host/database`). `table` may
    name its schema (`search.docs`). Raises AgentError for what makes no sense.
    """

    table: str
    dsn_env: str = "DATABASE_URL"

    EXTRA: ClassVar[str] = "pgvector"
    PACKAGES: ClassVar[tuple[str, ...]] = ("psycopg",)

    def __post_init__(self) -> None:
        check_table("PgVector(table)", self.table, schema=True)
        check_variable("PgVector(dsn_env=...)", self.dsn_env)

    def check(self) -> None:
        StoreDescription.check(self)
        from_environment(self, self.dsn_env)

    def open(self) -> DocumentStore:
        import psycopg.errors  # noqa: F401, PLC0415  an extra; imported here, off the event loop

        return _Store(from_environment(self, self.dsn_env), self.table)


class _Store(DocumentStore):
    """Up to so many connections, made when they are needed and kept.

    Not psycopg_pool: without a server it lets a call wait out its timeout, and connects again some seconds after the
    server is back. Here the call fails at once, and says why.
    """

    def __init__(self, dsn: str, table: str) -> None:
        from psycopg import sql  # noqa: PLC0415

        self._dsn = dsn
        self._name = table
        self._table: sql.Identifier = sql.Identifier(*table.split("."))
        self._where = f"pgvector: table {table!r}"
        self._idle: list[AsyncConnection[Any]] = []
        self._room = asyncio.Semaphore(_CONNECTIONS)
        self._closed = False
        self._held: int | None = None

    async def query(
        self, text: str, embedding: Sequence[float] | None, *, max_results: int, where: Filter
    ) -> Sequence[Document]:
        from psycopg import sql  # noqa: PLC0415

        del text
        vector = query_embedding(embedding, self._where)
        # Two forms, since a list fits by one of its items; both can use a GIN index (jsonb_path_ops).
        fits = [sql.SQL("(metadata @> %s::jsonb OR metadata @> %s::jsonb)") for _ in where]
        values = [_json({name: form}) for name, value in where.items() for form in (value, [value])]
        statement = sql.SQL(
            "SELECT id, content, metadata, embedding <=> %s::vector AS distance FROM {table} WHERE {fits} "
            "ORDER BY distance LIMIT %s"
        ).format(table=self._table, fits=sql.SQL(" AND ").join([sql.SQL("true"), *fits]))
        async with self._connection() as connection:
            if self._held != len(vector):  # a look at the catalogue only where it is not known to fit
                self._held = await self._dimension(connection)
                check_dimension(self._where, self._held, len(vector))
            found = await (await connection.execute(statement, [_json(vector), *values, max_results])).fetchall()
        # Sorted by id here: as a second key of the statement's order it would keep it from an index.
        found.sort(key=lambda row: (row[3], row[0]))
        return [
            Document(id=key, content=content, metadata=metadata, score=1 - distance)
            for key, content, metadata, distance in found
            if not math.isnan(distance)
        ]

    async def add(self, documents: Sequence[Document]) -> None:
        from psycopg import sql  # noqa: PLC0415

        if not documents:
            return
        vectors = [embedding_of(document, self._where) for document in documents]
        statement = sql.SQL(
            "INSERT INTO {table} (id, content, metadata, embedding) VALUES (%s, %s, %s::jsonb, %s::vector) "
            "ON CONFLICT (id) DO UPDATE SET content = excluded.content, metadata = excluded.metadata, "
            "embedding = excluded.embedding"
        ).format(table=self._table)
        async with self._connection() as connection:
            held = await self._created(connection, len(vectors[0]))
            for vector in vectors:
                check_dimension(self._where, held, len(vector))
            rows = [
                (document.id, _plain(document.content), _json(document.metadata), _json(vector))
                for document, vector in zip(documents, vectors, strict=True)
            ]
            async with connection.transaction(), connection.cursor() as cursor:
                await cursor.executemany(statement, rows)

    async def delete(self, ids: Sequence[str]) -> int:
        from psycopg import sql  # noqa: PLC0415

        statement = sql.SQL("DELETE FROM {table} WHERE id = ANY(%s)").format(table=self._table)
        async with self._connection() as connection:
            if await self._find_dimension(connection) is None:
                return 0
            return (await connection.execute(statement, [list(ids)])).rowcount

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            await self._idle.pop().close()

    @asynccontextmanager
    async def _connection(self) -> "AsyncIterator[AsyncConnection[Any]]":
        """A connection of ours alone. Raises psycopg's errors where no server answers."""
        async with self._room:
            connection = await self._take()
            try:
                yield connection
            except BaseException:
                self._held = None  # somebody may have made the table anew
                await connection.close()  # it may be in the middle of anything
                raise
            if self._closed:
                await connection.close()
            else:
                self._idle.append(connection)

    async def _take(self) -> "AsyncConnection[Any]":
        from psycopg import AsyncConnection, OperationalError  # noqa: PLC0415

        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.execute("")
            except OperationalError:  # the server was restarted meanwhile
                await connection.close()
            else:
                return connection
        return await AsyncConnection.connect(self._dsn, autocommit=True, connect_timeout=_CONNECT)

    async def _dimension(self, connection: "AsyncConnection[Any]") -> int:
        """Of the table's column. Raises StoreError where there is no table, or another one."""
        held = await self._find_dimension(connection)
        if held is None:
            raise not_there(self._where)
        return held

    async def _find_dimension(self, connection: "AsyncConnection[Any]") -> int | None:
        there = await (await connection.execute("SELECT to_regclass(%s)::oid", [self._name])).fetchone()
        if there is None or there[0] is None:
            return None
        found = await connection.execute(
            "SELECT format_type(atttypid, NULL), atttypmod FROM pg_attribute "
            "WHERE attrelid = %s AND attname = 'embedding' AND NOT attisdropped",
            [there[0]],
        )
        column = await found.fetchone()
        if column is None or str(column[0]).rpartition(".")[2] != "vector" or column[1] < 1:
            raise StoreError(f"{self._where} has no column `embedding` of the type vector(n): choose another table")
        return int(column[1])

    async def _created(self, connection: "AsyncConnection[Any]", dimension: int) -> int:
        from psycopg import errors, sql  # noqa: PLC0415

        held = await self._find_dimension(connection)
        if held is not None:
            return held
        create = sql.SQL(
            "CREATE TABLE IF NOT EXISTS {table} (id text PRIMARY KEY, content text NOT NULL, metadata jsonb NOT NULL, "
            "embedding vector({dimension}) NOT NULL)"
        ).format(table=self._table, dimension=sql.Literal(dimension))
        try:
            if await (await connection.execute("SELECT to_regtype('vector')::oid")).fetchone() == (None,):
                await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            await connection.execute(create)
        except (errors.InsufficientPrivilege, errors.UndefinedFile, errors.FeatureNotSupported) as error:
            raise StoreError(
                f"{self._where} cannot be made ({type(error).__name__}): a server with pgvector is needed, and the "
                "right to make tables; an administrator runs `CREATE EXTENSION vector` once"
            ) from error
        return dimension


def _json(value: object) -> str:
    return jsonio.dumps(value).decode().replace("\\u0000", "")


def _plain(text: str) -> str:
    """PostgreSQL's texts hold every character but this one."""
    return text.replace("\x00", "")
