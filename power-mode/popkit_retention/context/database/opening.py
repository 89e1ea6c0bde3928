"""Opens the database that the user's configuration means, its tables up to date: SQLite in our folder, or a PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
import ssl
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, inspect, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError, StatementError
from sqlalchemy.pool import QueuePool

from hooks.utils.config import remembered
from hooks.utils.edges import files, home

from . import migrations
from .address import ENCRYPTION, PASSWORD, USER, BadAddress, Server, server_of
from .tables import snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy.engine import Connection, Engine

FILE = "context.sqlite"  # in our folder
PATIENCE_S = 5.0  # for an answer of the server, for another process's transaction, for a free connection
MIGRATION_S = 60.0  # for another process that makes the tables of a server
CONNECTIONS = 5
LOCK = 0x506F704B  # of PostgreSQL's advisory locks the one that who makes the tables holds
_AGAIN_S, _ASK_S = 0.01, 0.1
_HERE = "SQLite on this machine"
_BESIDE = ("-journal", "-wal", "-shm")
_WRITES = "popkit_writes"
_NO_TLS = "Server refuses SSL"  # as the driver says it
# SQLSTATEs that begin so: the server does not let this user in; it takes no such data.
_REFUSED, _WRONG = "28", ("22", "23")


class DatabaseUnavailable(Exception):
    """The database cannot be used; the message says why, and what to do, and holds no credentials."""


class NotWritable(DatabaseUnavailable):
    """The database can be used, but will never take what was to be written."""


class DatabaseTooNew(DatabaseUnavailable):
    """A later version of PopKit has made its tables."""


class Database:
    """An open database. `words`: what a person calls it; `shared`: whether others may write to it too; `advice`: what to do where it
    cannot be used. Threads may share it."""

    def __init__(self, engine: Engine, words: str, shared: bool, advice: str) -> None:
        self._engine = engine
        self._advice = advice
        self.words = words
        self.shared = shared

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for questions. DatabaseUnavailable."""
        with self._speaking(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all or nothing. DatabaseUnavailable; NotWritable where the same would fail again."""
        with self._speaking(), self._engine.connect().execution_options(**{_WRITES: True}) as connection, connection.begin():
            yield connection

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise _unavailable(self.words, self._advice, error) from None

    def close(self) -> None:
        """Closes every connection."""
        self._engine.dispose()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def configuration(environ: Mapping[str, str]) -> dict[str, Any]:
    """The user's settings `context`. NoHome."""
    found: dict[str, Any] = remembered.effective(home.plugin_root(), home.popkit_home(environ), "")["context"]
    return found


def open_database(environ: Mapping[str, str] = os.environ, create: bool = True) -> Database:
    """The database that the user's configuration means. DatabaseUnavailable; FileNotFoundError, without `create`, where nobody has made its
    file or its tables yet. NoHome."""
    server = _server(environ)
    return open_server(server, create) if server else open_file(os.path.join(home.popkit_home(environ), FILE), create)


def words_of(environ: Mapping[str, str]) -> str:
    """What a person calls the database that the user's configuration means; it is not asked. DatabaseUnavailable, NoHome."""
    server = _server(environ)
    return server.words if server else _HERE


def _server(environ: Mapping[str, str]) -> Server | None:
    try:
        return server_of(configuration(environ)["database"], environ, login_name(environ))
    except BadAddress as error:
        raise DatabaseUnavailable(str(error)) from None


def login_name(environ: Mapping[str, str]) -> str:
    """Who has logged in here."""
    import getpass

    named = next((environ[key] for key in ("LOGNAME", "USER", "USERNAME") if environ.get(key)), "")
    try:
        return named or getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid())


def open_file(path: str, create: bool = True) -> Database:
    """The database in a file, which is ours alone."""
    path = os.path.abspath(path)
    try:
        files.make_private_file(path, create)
        for beside in _BESIDE:
            if os.path.lexists(path + beside):
                files.make_private_file(path + beside, create=False)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DatabaseUnavailable(f"{path} cannot be used: {error.strerror or error}. Move it away, or set POPKIT_HOME") from None
    engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=QueuePool, pool_size=CONNECTIONS, pool_timeout=PATIENCE_S)
    event.listen(engine, "begin", _begin)
    advice = f"Check that {path} can be written to; if it is damaged, move it away, and a new one is made"
    return _ready(Database(engine, _HERE, False, advice), path, create)


def _connect(path: str) -> sqlite3.Connection:
    """A connection. `mode=rw`: a file that has just gone is not made again with the rights of the umask."""
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file://{escaped}?mode=rw", timeout=PATIENCE_S, isolation_level=None, uri=True, check_same_thread=False)
    try:
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes of the last second can be lost
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switches a new file over. Where another process does so too SQLite says at once that it is locked, however long it may wait."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # noqa: PERF203  seldom more than once
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_AGAIN_S)


def _begin(connection: Connection) -> None:
    """A transaction that writes has the lock from its first read on, so that it never has to give up halfway."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(_WRITES) else "BEGIN")


def open_server(server: Server, create: bool = True) -> Database:
    """The database on a server."""
    from sqlalchemy.engine import URL

    try:
        import pg8000.native  # noqa: F401  asked for here, where it can be said what to do
    except ImportError:
        raise DatabaseUnavailable("the driver for PostgreSQL is missing. Install it with popkit setup postgres") from None
    url = URL.create("postgresql+pg8000", server.user, host=server.host, port=server.port, database=server.name)
    patience_ms = str(int(PATIENCE_S * 1000))
    arguments = {
        "password": server.password,  # "" too: without any the driver fails where it is asked for one
        "timeout": PATIENCE_S,
        "ssl_context": _encryption(server.encryption),
        "application_name": "popkit",
        "startup_params": {"statement_timeout": patience_ms, "lock_timeout": patience_ms},
    }
    engine = create_engine(
        url, connect_args=arguments, pool_size=CONNECTIONS, max_overflow=0, pool_timeout=PATIENCE_S, pool_pre_ping=True, pool_recycle=300
    )
    advice = "Check context.database (popkit config show) and that it runs"
    return _ready(Database(engine, server.words, True, advice), server.words, create)


def _encryption(word: str) -> ssl.SSLContext | bool | None:
    """What the driver calls it."""
    return {"disable": False, "prefer": None, "require": True}.get(word, ssl.create_default_context())


# --- tables ------------------------------------------------------------------------------------------------------------------------------


def _ready(database: Database, where: str, create: bool) -> Database:
    """The database with its tables up to date; it is closed where they cannot be, and where there are none and none are to be made."""
    try:
        _bring_up(database, where, create)
    except BaseException:
        database.close()
        raise
    return database


def _bring_up(database: Database, where: str, create: bool) -> None:
    with database.reading() as connection:
        newest = _is_newest(connection, where)
        is_made = newest or inspect(connection).has_table(migrations.VERSION_TABLE)
    if newest:
        return
    if not is_made and not create:
        raise FileNotFoundError(f"{where}: nobody has made the tables yet")
    with database.writing() as connection:
        _lock(connection)
        if not _is_newest(connection, where):
            migrations.run(connection)


def _is_newest(connection: Connection, where: str) -> bool:
    """Whether the tables are those of this version."""
    seen = inspect(connection)
    # Asked in this order: who makes both, in one transaction, may do so between the two questions.
    is_taken = seen.has_table(snapshots.name)
    if not seen.has_table(migrations.VERSION_TABLE):
        if is_taken:
            raise DatabaseUnavailable(
                f"{where}: has a table {snapshots.name} that PopKit did not make. Name another database, or rename the table"
            )
        return False
    version = connection.execute(text(f"SELECT version_num FROM {migrations.VERSION_TABLE}")).scalar()  # noqa: S608  our own name
    if version is not None and version not in migrations.VERSIONS:
        known = migrations.VERSIONS[-1]
        raise DatabaseTooNew(f"{where}: a later PopKit has made its tables (version {version}; this one knows {known}). Update PopKit")
    return bool(version == migrations.VERSIONS[-1])


def _lock(connection: Connection) -> None:
    """Sees to it that one process makes the tables; in SQLite the transaction itself does. A server is asked again and again: an answer
    that takes longer than PATIENCE_S would be taken for a server that hangs. TimeoutError."""
    if connection.dialect.name != "postgresql":
        return
    until = time.monotonic() + MIGRATION_S
    while not connection.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": LOCK}).scalar():
        if time.monotonic() > until:
            raise TimeoutError(f"another process has been making the tables for {MIGRATION_S:.0f} s")
        time.sleep(_ASK_S)


def _unavailable(words: str, advice: str, error: Exception) -> DatabaseUnavailable:
    """The error in words. What a driver says of a statement may hold what was to be written, so its first line alone is told."""
    cause = getattr(error, "orig", None) or error
    told = cause.args[0] if cause.args else ""
    kind = NotWritable if _is_of_the_data(error, told) else DatabaseUnavailable
    if isinstance(told, dict):  # the driver hands on the fields of the server's answer: M is its message, C its SQLSTATE
        if str(told.get("C")).startswith(_REFUSED):
            advice = f"Set {USER} and {PASSWORD} to a user of that server"
        told = told.get("M", "")
    if told == _NO_TLS:
        advice = f"Let the server speak TLS, or set {ENCRYPTION} to prefer"
    return kind(f"{words} cannot be used: {_first_line(told, cause)}. {advice}")


def _is_of_the_data(error: Exception, told: object) -> bool:
    """Whether an error is about what was to be written. The driver for PostgreSQL has one class for all errors of the server."""
    if isinstance(error, (IntegrityError, DataError)):
        return True
    if isinstance(error, StatementError) and not isinstance(error, DBAPIError):  # a value that no column can be given
        return True
    return isinstance(told, dict) and str(told.get("C")).startswith(_WRONG)


def _first_line(told: object, error: BaseException) -> str:
    lines = str(told).strip().splitlines()
    return (lines[0][:200] if lines else type(error).__name__).rstrip(".")
