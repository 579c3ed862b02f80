"""Documents in a SQLite file, with sqlite-vec: nothing to install or to run, on one machine.

Python's own sqlite3 is often built without loadable extensions (macOS, pyenv), so the SQLite is APSW's.

A query compares with every row that the filter lets through, so it is exact, and costs about 6 ms of CPU per 1,000
documents of 1,536 dimensions. Rows stand in an ordinary table and not in sqlite-vec's `vec0`, which compares with all
rows as well (4 ms), but knows no upsert and filters by columns that are fixed when the table is made.
"""

import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from parkway.agents.errors import AgentError
from parkway.agents.stores.base import DocumentStore, Filter, Scalar
from parkway.agents.stores.description import StoreDescription, check_table
from parkway.agents.stores.vectors import check_dimension, embedding_of, not_there, query_embedding
from parkway.agents.threads import run_in_thread
from parkway.schemas import jsonio
from parkway.schemas.events import Document

if TYPE_CHECKING:
    import apsw

T = TypeVar("T")

_BUSY: Final = 10_000  # milliseconds that a writer waits for another one

# One member of a filter: its name, its value and its value again; `types` are SQLite's names for the value's type.
_FITS: Final = """EXISTS (
  SELECT 1 FROM json_each(metadata) AS m WHERE m.key = ? AND (
    (m.type IN ({types}) AND m.atom = ?)
    OR (m.type = 'array' AND EXISTS (SELECT 1 FROM json_each(m.value) AS i WHERE i.type IN ({types}) AND i.atom = ?))
  )
)"""


@dataclass(frozen=True, slots=True)
class SqliteVec(StoreDescription):
    """`SqliteVec("docs.db")`: documents in this file, in `table`. Extra: `parkway[sqlite]`.

    A relative path starts at the current folder of each process. Raises AgentError for what makes no sense.
    """

    path: str | Path
    table: str = "documents"

    EXTRA: ClassVar[str] = "sqlite"
    PACKAGES: ClassVar[tuple[str, ...]] = ("apsw", "sqlite_vec")

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path) or str(self.path) in ("", ":memory:"):
            raise AgentError(f"SqliteVec({self.path!r}): the path of a file; memory is shared with no other process")
        check_table("SqliteVec(table=...)", self.table)

    def open(self) -> DocumentStore:
        return _Store(Path(self.path), self.table)


class _Store(DocumentStore):
    """One connection per thread that is in it at the same time; each call runs in a thread."""

    def __init__(self, path: Path, table: str) -> None:
        self._path = path.absolute()
        self._table = table
        self._where = f"sqlite-vec: table {table!r} in {self._path}"
        self._idle: SimpleQueue[apsw.Connection] = SimpleQueue()
        self._closing = threading.Event()

    async def query(
        self, text: str, embedding: Sequence[float] | None, *, max_results: int, where: Filter
    ) -> Sequence[Document]:
        del text
        vector = query_embedding(embedding, self._where)
        return await self._run(lambda connection: self._query(connection, vector, max_results, where), create=False)

    async def add(self, documents: Sequence[Document]) -> None:
        await self._run(lambda connection: self._add(connection, documents), create=True)

    async def delete(self, ids: Sequence[str]) -> int:
        if not self._path.exists():
            return 0
        return await self._run(lambda connection: self._delete(connection, ids), create=False)

    async def close(self) -> None:
        self._closing.set()
        await run_in_thread(self._close_idle)

    async def _run(self, work: "Callable[[apsw.Connection], T]", *, create: bool) -> T:
        def run() -> T:
            with self._connection(create=create) as connection:
                return work(connection)

        result: T = await run_in_thread(run)
        return result

    @contextmanager
    def _connection(self, *, create: bool) -> "Iterator[apsw.Connection]":
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._connect(create=create)
        try:
            yield connection
        finally:
            self._idle.put(connection)
            if self._closing.is_set():
                self._close_idle()

    def _connect(self, *, create: bool) -> "apsw.Connection":
        import apsw  # noqa: PLC0415  an extra
        import sqlite_vec  # noqa: PLC0415

        if not create and not self._path.exists():
            raise not_there(self._where)
        if create:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = apsw.Connection(str(self._path))
        connection.set_busy_timeout(_BUSY)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
        if create:
            connection.execute("PRAGMA journal_mode = WAL")  # readers go on while `parkway index` writes
        return connection

    def _close_idle(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _query(
        self, connection: "apsw.Connection", vector: Sequence[float], max_results: int, where: Filter
    ) -> list[Document]:
        if not self._exists(connection):
            raise not_there(self._where)
        check_dimension(self._where, self._dimension(connection), len(vector))
        conditions, values = ["1"], []
        for name, value in where.items():
            condition, bound = _fits(name, value)
            conditions.append(condition)
            values += bound
        found = connection.execute(
            f"""
            WITH nearest AS MATERIALIZED (
              SELECT rowid AS place, vec_distance_cosine(embedding, ?) AS distance FROM "{self._table}"
              WHERE {" AND ".join(conditions)} ORDER BY distance, id LIMIT ?
            )
            SELECT id, content, metadata, 1 - distance FROM nearest JOIN "{self._table}" AS d ON d.rowid = nearest.place
            ORDER BY distance, id
            """,  # noqa: S608  the table's name is checked
            (_blob(vector), *values, max_results),
        )
        return [
            Document(id=str(key), content=str(content), metadata=jsonio.loads(str(metadata)), score=score)
            for key, content, metadata, score in _rows(found)
        ]

    def _add(self, connection: "apsw.Connection", documents: Sequence[Document]) -> None:
        with connection:
            connection.execute(
                f'CREATE TABLE IF NOT EXISTS "{self._table}" '
                "(id TEXT PRIMARY KEY, embedding BLOB NOT NULL, metadata TEXT NOT NULL, content TEXT NOT NULL)"
            )
            held = self._dimension(connection)
            rows = []
            for document in documents:
                vector = embedding_of(document, self._where)
                check_dimension(self._where, held, len(vector))
                held = len(vector)
                rows.append((document.id, _blob(vector), _json(document.metadata), document.content))
            connection.executemany(
                f'INSERT INTO "{self._table}" VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE '  # noqa: S608
                "SET embedding = excluded.embedding, metadata = excluded.metadata, content = excluded.content",
                rows,
            )

    def _delete(self, connection: "apsw.Connection", ids: Sequence[str]) -> int:
        if not self._exists(connection):
            return 0
        with connection:
            connection.execute(
                f'DELETE FROM "{self._table}" WHERE id IN (SELECT value FROM json_each(?))',  # noqa: S608
                (_json(ids),),
            )
            deleted = connection.changes()
        return deleted  # noqa: RET504  inside, mypy takes the `with` for one that swallows errors

    def _exists(self, connection: "apsw.Connection") -> bool:
        return any(_rows(connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (self._table,))))

    def _dimension(self, connection: "apsw.Connection") -> int | None:
        """Of the embeddings in the table; None while it is empty."""
        with closing(connection.cursor()) as cursor:
            row = cursor.execute(f'SELECT vec_length(embedding) FROM "{self._table}" LIMIT 1').fetchone()  # noqa: S608
        return int(row[0]) if row is not None else None


def _fits(name: str, value: Scalar) -> tuple[str, list[Any]]:
    if isinstance(value, bool):
        types, value = ("'true'" if value else "'false'"), int(value)
    else:
        types = "'text'" if isinstance(value, str) else "'integer', 'real'"
    return _FITS.format(types=types), [name, value, value]


def _rows(cursor: Any) -> Iterator[tuple[Any, ...]]:
    yield from cursor


def _blob(vector: Sequence[float]) -> bytes:
    """As sqlite-vec reads it, and far faster than JSON: what is bound is parsed once per row."""
    return array("f", vector).tobytes()


def _json(value: object) -> str:
    return jsonio.dumps(value).decode()
