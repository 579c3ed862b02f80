"""Where documents live: three vector databases behind one base class, which your own can have as well."""

from parkway.agents.stores.base import DocumentStore, Filter, StoreError
from parkway.agents.stores.description import StoreDescription
from parkway.agents.stores.pgvector import PgVector
from parkway.agents.stores.qdrant import Qdrant
from parkway.agents.stores.sqlite_vec import SqliteVec

__all__ = ["DocumentStore", "Filter", "PgVector", "Qdrant", "SqliteVec", "StoreDescription", "StoreError"]
