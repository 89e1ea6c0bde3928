"""Vectors in a private SQLite file, compared by the extension sqlite-vec."""

from __future__ import annotations

import os
import threading
from array import array
from contextlib import contextmanager
from typing import Any

from popkit_retention.core.io import files
from popkit_retention.core.io.sqlite_file import BUSY_S, MEMORY, is_damage

from ..extras import missing
from ..memory.stores.protocol import StoreUnavailable
from ..memory.stores.shared import in_batches
from ..memory.vectors.protocol import PLACES, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VERSION = 1  # of the tables
_TABLES = (
    """CREATE TABLE IF NOT EXISTS vectors (
      id TEXT PRIMARY KEY, numbers BLOB NOT NULL, embedder TEXT NOT NULL, stamp TEXT NOT NULL, project TEXT NOT NULL, user_id TEXT NOT NULL,
      agent_id TEXT NOT NULL, session_id TEXT NOT NULL
    )""",
    # A scope is found by its own index, so a query reads no more rows than the scope has.
    *(f"CREATE INDEX IF NOT EXISTS of_{field} ON vectors ({field}, project)" for field in PLACES[1:]),
    "CREATE INDEX IF NOT EXISTS of_project ON vectors (project)",
    f"PRAGMA user_version = {VERSION}",
)
_PUT = "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
# The distance to a vector of zeros is NULL.
_NEAREST = "SELECT id, 1.0 - coalesce(vec_distance_cosine(numbers, ?), 1.0) AS likeness FROM vectors WHERE embedder = ?"
_ORDER = " ORDER BY likeness DESC, id LIMIT ?"


class SqliteVecStore:
    """Threads and processes may share it. `path`: of a file of its own (`~` is your home), or ":memory:"; `busy_s`: how long to wait for
    other processes. ExtraMissing without the extension,
    StoreUnavailable where Python's SQLite cannot load it.

    Queries compare all vectors of their scope, in a plain table: the extension's own tables (vec0) reserve room for 1,024 vectors in each
    partition, which for ten thousand users is gigabytes, or filter after they have chosen. Deleted vectors are overwritten."""

    def __init__(self, path: str | os.PathLike[str], busy_s: float = BUSY_S) -> None:
        self.path = os.path.expanduser(os.fspath(path))
        self._lock = threading.RLock()  # of the one connection
        self._is_closed = False
        sqlite, extension = _sqlite(), _extension()
        self._error: type[Exception] = sqlite.DatabaseError
        if self.path != MEMORY:
            try:
                files.make_private_file(os.path.abspath(self.path))
            except OSError as error:
                reason = error.strerror or error
                raise StoreUnavailable(f"{self.path}: {reason}. Make the folder yours, or choose another path") from None
        with self._usable():
            self._db: Any = sqlite.connect(self.path, timeout=busy_s, isolation_level=None, check_same_thread=False)
            try:
                self._db.enable_load_extension(True)
                self._db.load_extension(extension)
                self._db.enable_load_extension(False)
                self._db.execute("PRAGMA secure_delete = ON")  # deleted rows are overwritten
                self._db.execute("PRAGMA trusted_schema = OFF")
                self._make_tables()
            except BaseException:
                self._db.close()
                raise

    def _make_tables(self) -> None:
        ((other,),) = self._db.execute("PRAGMA application_id")
        if other:
            raise StoreUnavailable(f"{self.path}: it is another store's or program's. Choose a path for the vectors alone")
        ((version,),) = self._db.execute("PRAGMA user_version")
        if version > VERSION:
            raise StoreUnavailable(f"{self.path}: a later PopKit has made it. Update PopKit, or choose another path")
        if version < VERSION:
            with self._writing() as db:
                for statement in _TABLES:
                    db.execute(statement)

    def put(self, vectors: Sequence[Vector]) -> None:
        with self._writing() as db:
            db.executemany(_PUT, ((vector.id, _blob(vector.numbers), *vector[2:]) for vector in vectors))

    def remove(self, ids: Sequence[str]) -> None:
        with self._writing() as db:
            for batch in in_batches(ids):
                db.execute(f"DELETE FROM vectors WHERE id IN ({', '.join('?' * len(batch))})", tuple(batch))  # noqa: S608

    def stamps(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        query = "SELECT id, stamp FROM vectors"
        with self._usable():
            if ids is None:
                return dict(self._db.execute(query).fetchall())
            found: dict[str, str] = {}
            for batch in in_batches(ids):
                found.update(self._db.execute(f"{query} WHERE id IN ({', '.join('?' * len(batch))})", tuple(batch)).fetchall())
            return found

    def nearest(self, numbers: Sequence[float], embedder: str, most: int, within: Mapping[str, str]) -> list[tuple[str, float]]:
        placed = "".join(f" AND {field} = ?" for field in PLACES if field in within)
        bound = (_blob(numbers), embedder, *(within[field] for field in PLACES if field in within), most)
        with self._usable():
            return list(self._db.execute(_NEAREST + placed + _ORDER, bound).fetchall())

    def close(self) -> None:
        """Close the store; a thread that is at work with it finishes first."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._db.close()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Keep other threads out, and turn errors of SQLite into StoreUnavailable."""
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable(f"{self.path}: this store was closed. Open another SqliteVecStore")
            try:
                yield
            except self._error as error:
                advice = " Delete it: memory's next run makes it again" if is_damage(error) else ""
                raise StoreUnavailable(f"{self.path}: SQLite says: {error}.{advice}") from None

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with self._usable():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")


def _sqlite() -> Any:
    """Return a module of SQLite that loads extensions: Python's, else that of pysqlite3."""
    import sqlite3

    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        import pysqlite3
    except ImportError:
        raise StoreUnavailable(
            "this Python was built without loadable extensions of SQLite, which sqlite-vec is. Install pysqlite3-binary (pip install "
            "pysqlite3-binary), or use a Python that has them, such as Debian's, Homebrew's or uv's"
        ) from None
    return pysqlite3


def _extension() -> str:
    try:
        import sqlite_vec
    except ModuleNotFoundError as error:
        raise missing("sqlite-vec", error) from None
    return str(sqlite_vec.loadable_path())


def _blob(numbers: Sequence[float]) -> bytes:
    return array("f", numbers).tobytes()
