"""Vectors in a PostgreSQL with the extension pgvector, through one connection that threads take turns with."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from ..extras import missing
from ..memory.stores.protocol import StoreUnavailable
from ..memory.stores.shared import in_batches
from ..memory.vectors.protocol import PLACES, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PATIENCE_S = 10  # for the server to take a connection, and for each answer
LOCK = 0x506F7056  # the server's advisory lock for the creation of the tables
_ROWS = 200  # that one statement has
_FIELDS = Vector._fields
_NO_EXTENSION = (
    "the server has no extension vector. Install pgvector there (Debian: postgresql-NN-pgvector), and let a superuser run CREATE EXTENSION"
)


class PgVectorStore:
    """Threads and processes may share it; a connection that the server has dropped is made again. `address`:
    postgresql://user:password@host:port/database · `table`: made where it is missing · `ssl_context`: the driver's (pg8000): None to
    encrypt where the server can, False for never, or an SSLContext. ExtraMissing without the driver,
    StoreUnavailable where the server or its extension is missing; no message shows the password.

    Queries compare all vectors of their scope, which its index finds: pgvector's approximate indexes choose first and filter then, so that
    a small scope among many would miss answers. The server frees what a deletion has left when it vacuums."""

    def __init__(self, address: str, table: str = "popkit_vectors", ssl_context: Any = None) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,40}", table):
            raise StoreUnavailable(f"{table!r:.60} cannot be the name of the table: take small letters, digits and _")
        self.table = table
        self._arguments = {**_arguments_of(address), "ssl_context": ssl_context}
        self.where = "postgresql://{host}:{port}/{database}".format(**self._arguments)
        self._turn = threading.RLock()
        self._connection: Any = None
        self._is_closed = False
        try:
            import pg8000.native
        except ModuleNotFoundError as error:
            raise missing("pgvector", error) from None
        self._driver = pg8000.native
        self._errors = (pg8000.native.Error, OSError)
        try:
            with self._transaction() as run:
                self._make_table(run)
        except BaseException:
            self.close()
            raise

    def _make_table(self, run: Any) -> None:
        run("SELECT pg_advisory_xact_lock(:lock)", lock=LOCK)
        if not run("SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
            if not run("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
                raise StoreUnavailable(f"{self.where}: {_NO_EXTENSION}")
            run("CREATE EXTENSION vector")
        run(
            f'CREATE TABLE IF NOT EXISTS {self.table} (id text COLLATE "C" PRIMARY KEY, numbers vector NOT NULL, embedder text NOT NULL, '
            "stamp text NOT NULL, project text NOT NULL, user_id text NOT NULL, agent_id text NOT NULL, session_id text NOT NULL)"
        )
        for field in PLACES[1:]:
            run(f"CREATE INDEX IF NOT EXISTS {self.table}_{field} ON {self.table} ({field}, project)")
        run(f"CREATE INDEX IF NOT EXISTS {self.table}_project ON {self.table} (project)")

    def put(self, vectors: Sequence[Vector]) -> None:
        last = list({vector.id: vector for vector in vectors}.values())  # a statement may change a row once
        setting = ", ".join(f"{field} = excluded.{field}" for field in _FIELDS[1:])
        with self._transaction() as run:
            for batch in in_batches(last, _ROWS):
                rows = ", ".join("(" + ", ".join(f":{field}_{at}" for field in _FIELDS) + ")" for at in range(len(batch)))
                rows = re.sub(r":numbers_(\d+)", r"CAST(:numbers_\1 AS vector)", rows)
                values = {f"{field}_{at}": value for at, vector in enumerate(batch) for field, value in _row(vector).items()}
                columns = ", ".join(_FIELDS)
                run(f"INSERT INTO {self.table} ({columns}) VALUES {rows} ON CONFLICT (id) DO UPDATE SET {setting}", **values)  # noqa: S608

    def remove(self, ids: Sequence[str]) -> None:
        with self._transaction() as run:
            run(f"DELETE FROM {self.table} WHERE id = ANY(CAST(:ids AS text[]))", ids=list(ids))  # noqa: S608

    def stamps(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        query = f"SELECT id, stamp FROM {self.table}"  # noqa: S608
        with self._transaction() as run:
            rows = run(query) if ids is None else run(f"{query} WHERE id = ANY(CAST(:ids AS text[]))", ids=list(ids))
        return dict(rows)

    def nearest(self, numbers: Sequence[float], embedder: str, most: int, within: Mapping[str, str]) -> list[tuple[str, float]]:
        fields = [field for field in PLACES if field in within]
        placed = "".join(f" AND {field} = :{field}" for field in fields)
        # The negative inner product, which for vectors of unit length is the cosine, and for zeros 0.
        query = (
            f"SELECT id, numbers <#> CAST(:numbers AS vector) AS distance FROM {self.table} WHERE embedder = :embedder{placed} "  # noqa: S608
            "ORDER BY distance, id LIMIT :most"
        )
        bound = {field: within[field] for field in fields}
        with self._transaction() as run:
            rows = run(query, numbers=_text(numbers), embedder=embedder, most=most, **bound)
        return [(id, 0.0 - distance) for id, distance in rows]

    def close(self) -> None:
        """Close the store; a thread that is at work with it finishes first."""
        with self._turn:
            self._is_closed = True
            self._disconnect()

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Yield what runs a statement within a transaction."""
        with self._turn:
            if self._is_closed:
                raise StoreUnavailable(f"{self.where}: this store was closed. Open another PgVectorStore")
            try:
                connection = self._begin()
                try:
                    yield connection.run
                    connection.run("COMMIT")
                except BaseException:
                    self._roll_back()
                    raise
            except self._errors as error:
                raise StoreUnavailable(f"{self.where} cannot be used: {_said(error)}") from None

    def _begin(self) -> Any:
        """Return the connection with a transaction begun; a new one where the server has dropped it."""
        if self._connection is not None:
            try:
                self._connection.run("BEGIN")
            except self._errors:
                self._disconnect()
            else:
                return self._connection
        self._connection = self._driver.Connection(**self._arguments, timeout=PATIENCE_S, application_name="popkit")
        self._connection.run("BEGIN")
        return self._connection

    def _roll_back(self) -> None:
        """Roll a transaction back; drop a connection where even that fails."""
        try:
            self._connection.run("ROLLBACK")
        except (*self._errors, AttributeError):  # None: another one could not be made
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*self._errors):
                connection.close()


def _arguments_of(address: str) -> dict[str, object]:
    """Return what the driver takes of an address. Raise StoreUnavailable for one that is none."""
    try:
        parts = urlsplit(address)
        port = parts.port or 5432
    except ValueError:
        parts, port = urlsplit(""), 0
    database = unquote(parts.path.strip("/"))
    if parts.scheme not in ("postgresql", "postgres") or not parts.hostname or not parts.username or not database or parts.query:
        raise StoreUnavailable("the address of the vectors is not postgresql://user:password@host:port/database")
    password = None if parts.password is None else unquote(parts.password)
    return {"user": unquote(parts.username), "password": password, "host": parts.hostname, "port": port, "database": database}


def _row(vector: Vector) -> dict[str, object]:
    return {**vector._asdict(), "numbers": _text(vector.numbers)}


def _text(numbers: Sequence[float]) -> str:
    """Return a vector as PostgreSQL reads it."""
    return "[" + ",".join(map(repr, map(float, numbers))) + "]"


def _said(error: BaseException) -> str:
    """Return what the server or the driver says, in a line: the rest may quote values."""
    said: Any = error.args[0] if error.args else ""
    message = said.get("M", "") if isinstance(said, dict) else said
    return (str(message).strip().splitlines() or [type(error).__name__])[0][:200]
