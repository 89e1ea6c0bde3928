"""The replication of what was recorded here to the server that the configuration names."""

from __future__ import annotations

from typing import Any

from popkit_retention.core.io.system import day_of

from .records import CLIENT, RequestUsage, Tokens, month_of, name_of
from .sqlite import SqliteStore
from .usage_store import AT_ONCE, USAGE, NotWritable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .server_address import Server
    from .usage_store import Statements


_PENDING = f"""SELECT number, {", ".join("used." + name for name in USAGE)} FROM unsent
LEFT JOIN context_usage AS used ON used.source = unsent.source AND used.request_id = unsent.request_id
ORDER BY number LIMIT {AT_ONCE}"""
_NOTE = ("INSERT OR REPLACE INTO unsent (source, request_id) VALUES", "(:source, :request_id)", "")


class Replication:
    """The queue for the configured server, None for none; `now`: seconds since 1970."""

    def __init__(self, store: SqliteStore, server: Server | None, now: float) -> None:
        self._store = store
        self._server = server
        self._now = now
        with store.reading() as db:
            rows = db.ask("SELECT name, since FROM server")
        name = f"{server.host}:{server.port}/{server.name}" if server else ""
        if [known_name for known_name, _ in rows] != ([name] if name else []):
            self._begin(name)
            rows = [(name, month_of(now))]
        self._since = rows[0][1] if name else ""

    def _begin(self, name: str) -> None:
        """Start over for another server, or for none."""
        with self._store.writing() as db:
            db.change("DELETE FROM server")
            db.change("DELETE FROM unsent")
            if name:
                since = month_of(self._now)
                db.change("INSERT INTO server (name, since) VALUES (:name, :since)", name=name, since=since)
                wanted = f"SELECT source, request_id FROM context_usage WHERE source <> '{CLIENT}' AND day >= :since"
                db.change(f"INSERT INTO unsent (source, request_id) {wanted}", since=since)

    def enqueue(self, db: Statements, used: Iterable[RequestUsage]) -> None:
        """Queue requests within the caller's transaction."""
        if self._server is not None:
            rows = [
                {"source": request.source, "request_id": name_of(request.request_id)}
                for request in used
                if day_of(request.at) >= self._since
            ]
            if rows:
                db.insert(*_NOTE, rows)

    def send(self, snapshot_days: int) -> None:
        """Send the queue to the server, and remove old rows there. DatabaseUnavailable."""
        if self._server is None:
            return
        pending = self._pending()
        if not pending:
            return
        from .postgres import PostgresStore  # what it needs takes a while to load

        with PostgresStore(self._server) as shared:
            while pending:
                try:
                    shared.write(_used(row) for _, *row in pending if row[0] is not None)
                except NotWritable:
                    pass  # it would block the queue for ever
                with self._store.writing() as db:
                    for number, *_ in pending:
                        db.change("DELETE FROM unsent WHERE number = :number", number=number)
                pending = self._pending()
            shared.sweep(self._now, snapshot_days)

    def _pending(self) -> Sequence[Sequence[Any]]:
        with self._store.reading() as db:
            return db.ask(_PENDING)


def count_pending(store: SqliteStore) -> int:
    """Return how many requests are yet to be sent to a server."""
    with store.reading() as db:
        ((count,),) = db.ask("SELECT count(*) FROM unsent")
    return int(count)


def _used(row: Sequence[Any]) -> RequestUsage:
    source, request_id, session_id, user_id, project, model, at, _day, *tokens, usd = row
    return RequestUsage(source, request_id, session_id, user_id, model, at, Tokens(*tokens), usd, project)
