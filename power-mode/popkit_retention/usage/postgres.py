"""Usage in a team's shared PostgreSQL, through one connection that threads use in turn. The first process that opens it creates its
tables."""

from __future__ import annotations

import re
import socket
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from typing import Any

from .server_address import ENCRYPTION, PASSWORD, USER
from .usage_store import INDEXES, DatabaseSilent, DatabaseTooNew, DatabaseUnavailable, NotWritable, Statements, UsageStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping, Sequence

    from .server_address import Server

PATIENCE_S = 5.0  # for an answer of the server, and for another thread's transaction
MIGRATION_S = 60.0  # for another process that makes the tables
LOCK = 0x506F704B  # the server's advisory lock for the creation of the tables
_POLL_S = 0.1
_ROWS = 50  # that one INSERT has
_ADVICE = "Check context.database (popkit config show) or POPKIT_DATABASE_URL, and that it runs"
_NO_TLS = "Server refuses SSL"  # the driver's message
# Classes of SQLSTATE: the user is refused; the data is invalid; the server is short of something, is waiting for a lock, or is stopping.
_REFUSED, _WRONG, _BUSY = "28", ("22", "23"), ("08", "53", "55", "57")
VERSION_TABLE = "popkit_context_version"
VERSION = "0001"
_TABLES = (
    f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))",
    """CREATE TABLE context_snapshots (
      id UUID DEFAULT gen_random_uuid() NOT NULL, session_id TEXT NOT NULL, user_id TEXT NOT NULL, tier_breakdown JSONB NOT NULL,
      total_tokens INTEGER NOT NULL, budget_percent NUMERIC NOT NULL, pruning_strategy JSONB NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL, budget_remaining_percent NUMERIC NOT NULL,
      full_tokens INTEGER NOT NULL, model TEXT NOT NULL, project TEXT NOT NULL, agent TEXT NOT NULL, counted TEXT NOT NULL,
      PRIMARY KEY (id)
    )""",
    """CREATE TABLE context_usage (
      source TEXT NOT NULL, request_id TEXT NOT NULL, session_id TEXT NOT NULL, user_id TEXT NOT NULL, project TEXT NOT NULL,
      model TEXT NOT NULL, at TIMESTAMP WITH TIME ZONE NOT NULL, day TEXT NOT NULL, input_tokens BIGINT NOT NULL,
      cache_read_tokens BIGINT NOT NULL, cache_write_5m_tokens BIGINT NOT NULL, cache_write_1h_tokens BIGINT NOT NULL,
      output_tokens BIGINT NOT NULL, usd NUMERIC, PRIMARY KEY (source, request_id)
    )""",
    *INDEXES,
    f"INSERT INTO {VERSION_TABLE} VALUES ('{VERSION}')",
)
# Queries the catalog itself: to_regclass may answer from before another process has created them.
_IS_THERE = "SELECT count(*) FROM pg_catalog.pg_class WHERE relname = :name AND relkind = 'r' AND pg_catalog.pg_table_is_visible(oid)"


class PostgresStore(UsageStore):
    """The store on a server. `create`: whether missing tables are created. DatabaseUnavailable; FileNotFoundError without `create`, where
    there are none yet."""

    shared = True
    time, seconds = "to_timestamp(:{})", "CAST(extract(epoch FROM {}) AS double precision)"

    def __init__(self, server: Server, create: bool = True) -> None:
        try:
            import pg8000.native
        except ImportError:
            raise DatabaseUnavailable(
                f"{server.words} needs the driver for PostgreSQL, which is not installed. For your own program or proxy: "
                "pip install '/path/of/popkit[postgres]'. For the command popkit: popkit setup postgres"
            ) from None
        self.words = server.words
        self._server = server
        self._driver, self._errors = pg8000.native, (pg8000.native.Error, OSError)
        self._turn = threading.Lock()
        self._connection: Any = None
        try:
            self._create_tables(create)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def writing(self) -> Iterator[Statements]:
        if not self._turn.acquire(timeout=PATIENCE_S):
            raise DatabaseSilent(f"{self.words} is busy with another thread's query. Try again when that is done")
        try:
            with self._translated_errors():
                connection = self._begin()
                try:
                    yield _Statements(connection)
                    connection.run("COMMIT")
                except BaseException:
                    self._roll_back()
                    raise
        finally:
            self._turn.release()

    reading = writing  # a query changes nothing

    def close(self) -> None:
        waited = self._turn.acquire(timeout=PATIENCE_S)  # another thread may be in the middle of a query
        try:
            self._disconnect()
        finally:
            if waited:
                self._turn.release()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*self._errors):
                connection.close()

    def _begin(self) -> Any:
        """Return the connection with a transaction begun; a new one where the server has dropped it."""
        if self._connection is not None:
            try:
                self._connection.run("BEGIN")
            except self._errors:
                self._disconnect()
            else:
                return self._connection
        self._connection = self._connect()
        self._connection.run("BEGIN")
        return self._connection

    def _roll_back(self) -> None:
        """Roll a transaction back; drop a connection where even that fails."""
        try:
            self._connection.run("ROLLBACK")
        except self._errors:
            self._disconnect()

    def _connect(self) -> Any:
        """Return a new connection. We close its socket on failure: the driver leaves one open where a server never answers."""
        server, patience_ms = self._server, str(int(PATIENCE_S * 1000))
        sock = self._socket()
        try:
            return self._driver.Connection(
                server.user,
                host=server.host,
                sock=sock,
                database=server.name,
                password=server.password,  # "" too: without any the driver fails where it is asked for one
                ssl_context=_encryption(server.encryption),
                application_name="popkit",
                startup_params={"statement_timeout": patience_ms, "lock_timeout": patience_ms},
            )
        except BaseException:
            sock.close()
            raise

    def _socket(self) -> socket.socket:
        server = self._server
        try:
            sock = socket.create_connection((server.host, server.port), PATIENCE_S)
        except OSError as error:
            is_unknown = isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN
            is_refused = isinstance(error, ConnectionRefusedError) or is_unknown
            reason = f"Can't create a connection to host {server.host} and port {server.port}"
            raise _error(DatabaseUnavailable if is_refused else DatabaseSilent, self.words, reason) from None
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return sock

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            _clear_frames(error)
            raise _unavailable(self.words, error) from None

    def _create_tables(self, create: bool) -> None:
        """Create the tables where there are none."""
        with self.reading() as db:
            is_made = self._is_made(db)
        if is_made:
            return
        if not create:
            raise FileNotFoundError(f"{self.words}: its tables do not exist yet")
        with self.writing() as db:
            _lock(db)
            for statement in () if self._is_made(db) else _TABLES:
                db.change(statement)

    def _is_made(self, db: Statements) -> bool:
        """Return whether our tables exist."""
        # In this order: another process may create both, in one transaction, between the two queries.
        ((is_taken,),) = db.ask(_IS_THERE, name="context_snapshots")
        ((is_made,),) = db.ask(_IS_THERE, name=VERSION_TABLE)
        if not is_made:
            if is_taken:
                raise DatabaseUnavailable(
                    f"{self.words}: has a table context_snapshots that PopKit did not make. Name another database, or rename the table"
                )
            return False
        version = [number for (number,) in db.ask(f"SELECT version_num FROM {VERSION_TABLE}")]
        if version != [VERSION]:
            what = f"version {version[0]}; this one knows {VERSION}" if version else f"of no version; this one knows {VERSION}"
            raise DatabaseTooNew(f"{self.words}: a later PopKit has made its tables ({what}). Update PopKit")
        return True


def _lock(db: Statements) -> None:
    """Take the lock for creating the tables. It is polled: an answer that takes longer than PATIENCE_S would be taken for a server that
    hangs. TimeoutError."""
    until = time.monotonic() + MIGRATION_S
    while not db.ask("SELECT pg_try_advisory_xact_lock(:lock)", lock=LOCK)[0][0]:
        if time.monotonic() > until:
            raise TimeoutError(f"another process has been creating the tables for {MIGRATION_S:.0f} s")
        time.sleep(_POLL_S)


def _clear_frames(error: BaseException | None) -> None:
    """Clear the driver's frames: they hold the file over a socket, which would stay open for as long as the error is referenced."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _encryption(word: str) -> ssl.SSLContext | bool | None:
    """Return the driver's value for an encryption mode."""
    if word == "verify-full":
        import ssl

        return ssl.create_default_context()
    return {"disable": False, "require": True}.get(word)


class _Statements(Statements):
    """A transaction of PostgreSQL."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def ask(self, statement: str, **values: object) -> list[Any]:
        rows: list[Any] = self._connection.run(statement, **values)
        return rows

    def change(self, statement: str, **values: object) -> int:
        self._connection.run(statement, **values)
        return max(0, self._connection.row_count or 0)

    def insert(self, head: str, row: str, tail: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert many rows with one statement: each statement is a round trip."""
        for at in range(0, len(rows), _ROWS):
            some = rows[at : at + _ROWS]
            marked = ", ".join(re.sub(r":(\w+)", rf":\g<1>_{number}", row) for number in range(len(some)))
            values = {f"{name}_{number}": value for number, row in enumerate(some) for name, value in row.items()}
            self._connection.run(f"{head} {marked} {tail}", **values)


def _unavailable(words: str, error: BaseException) -> DatabaseUnavailable:
    """Return the error with a message for people. The driver's may quote the values, so only its first line is kept."""
    message: Any = error.args[0] if error.args else ""
    kind, advice = DatabaseSilent if _is_silence(error) else DatabaseUnavailable, _ADVICE
    if isinstance(message, dict):  # the driver hands on the fields of the server's answer: M is its message, C its SQLSTATE
        state, message = str(message.get("C")), message.get("M", "")
        kind = NotWritable if state.startswith(_WRONG) else DatabaseSilent if state.startswith(_BUSY) else DatabaseUnavailable
        if state.startswith(_REFUSED):
            advice = f"Set {USER} and {PASSWORD} to a user of that server"
    if message == _NO_TLS:
        advice = f"Let the server speak TLS, or set {ENCRYPTION} to prefer"
    lines = str(message).strip().splitlines()
    return _error(kind, words, (lines[0][:200] if lines else type(error).__name__).rstrip("."), advice)


def _is_silence(error: BaseException) -> bool:
    """Return whether the server did not answer, or the connection broke: not where it has answered, or cannot be trusted."""
    import ssl

    message = error.args[0] if error.args else ""
    return not isinstance(message, dict) and message != _NO_TLS and not isinstance(error, ssl.SSLError)


def _error(kind: type[DatabaseUnavailable], words: str, reason: str, advice: str = _ADVICE) -> DatabaseUnavailable:
    return kind(f"{words} cannot be used: {reason}. {advice}")
