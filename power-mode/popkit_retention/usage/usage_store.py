"""The store of usage, in SQL that both of its databases understand.

A request is recorded once, however often it is reported; of two records of one request the larger answer counts, because a transcript may
be read while it grows. A request that our proxy sent for the host is reported by client and transcript: the client's record counts, since
it got the answer itself. Each call is one transaction: all or nothing.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io.system import day_of

from .records import CLIENT, DAY_S, KEPT_DAYS, TRANSCRIPT, SessionUsage, Snapshot, Sum, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeVar

    from .records import RequestUsage

    _Self = TypeVar("_Self", bound="UsageStore")


MOST_OF_A_SESSION = 500  # snapshots of one session that are kept, the newest
AT_ONCE = 500  # rows that a statement names, or that a transaction removes
_MOST_TOKENS = 10**12  # of one request: a proxy may answer anything, a column holds 2**63
LATEST = 253_402_214_400.0  # a day before the year 10,000, the first that no calendar here has
TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens")
NAMES = ("source", "request_id", "session_id", "user_id", "project", "model")
USAGE = (*NAMES, "at", "day", *TOKENS, "usd")
SNAPSHOTS = Snapshot._fields
_TIMES = ("at", "created_at")
_BOOK = "ON CONFLICT (source, request_id) DO UPDATE SET {} WHERE context_usage.output_tokens < excluded.output_tokens".format(
    ", ".join(f"{name} = excluded.{name}" for name in (*TOKENS, "usd"))
)
_SUMS = """count(*), coalesce(sum(input_tokens), 0), coalesce(sum(cache_read_tokens), 0),
coalesce(sum(cache_write_5m_tokens + cache_write_1h_tokens), 0), coalesce(sum(output_tokens), 0),
coalesce(sum(usd), 0), count(*) - count(usd)"""
_OLD_USAGE = """DELETE FROM context_usage WHERE (source, request_id) IN
(SELECT source, request_id FROM context_usage WHERE day < :day ORDER BY day LIMIT :most)"""
_OLD_SNAPSHOTS = """DELETE FROM context_snapshots WHERE id IN
(SELECT id FROM context_snapshots WHERE created_at < {} ORDER BY created_at LIMIT :most)"""
_BEYOND = """DELETE FROM context_snapshots WHERE id IN
(SELECT id FROM context_snapshots WHERE session_id = :session ORDER BY created_at DESC LIMIT :most OFFSET :kept)"""
INDEXES = tuple(
    f"CREATE INDEX idx_context_{name} ON context_{columns}"
    for name, columns in (
        ("snapshots_session", "snapshots (session_id)"),
        ("snapshots_user", "snapshots (user_id)"),
        ("snapshots_created", "snapshots (created_at DESC)"),
        ("snapshots_newest", "snapshots (session_id, created_at DESC)"),
        ("usage_session", "usage (session_id)"),
        ("usage_user", "usage (user_id, day)"),
        ("usage_day", "usage (day)"),
    )
)


class DatabaseUnavailable(PopkitError):
    """The database cannot be used; the message says why, and what to do, and holds no credentials."""


class DatabaseSilent(DatabaseUnavailable):
    """The database does not answer now, and may answer later: nothing has to be set right."""


class NotWritable(DatabaseUnavailable):
    """The database can be used, but will never accept these rows."""


class DatabaseTooNew(DatabaseUnavailable):
    """A later version of PopKit has made its tables."""


class Statements(Protocol):
    """A transaction of a database, with named parameters (`:name`)."""

    def ask(self, statement: str, **values: object) -> Sequence[Sequence[Any]]:
        """Return the rows of a query."""
        ...

    def change(self, statement: str, **values: object) -> int:
        """Execute a statement; return how many rows it changed."""
        ...

    def insert(self, head: str, row: str, tail: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows; `row` is one of the VALUES between head and tail."""
        ...


class UsageStore:
    """The base of both stores, which define how a transaction begins. `words`: its name for people; `shared`: whether others may write to
    it too; `time`, `seconds`: the SQL of a time as a parameter, and of a column of times. Threads may share one.

    Every method raises DatabaseUnavailable where the database cannot be used. Times are seconds since 1970; a day is one like
    "2026-11-01", local where it was recorded; `user` "" means everybody."""

    words: str
    shared: bool
    time: str
    seconds: str

    def writing(self) -> AbstractContextManager[Statements]:
        """Open a transaction that writes, with the lock held from its first read on. DatabaseUnavailable, NotWritable."""
        raise NotImplementedError

    def reading(self) -> AbstractContextManager[Statements]:
        """Open a transaction for queries. DatabaseUnavailable."""
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""

    def write(self, used: Iterable[RequestUsage] = (), snapshots: Iterable[Snapshot] = ()) -> None:
        """Record requests and keep snapshots, in one transaction. NotWritable where the same would fail again."""
        rows, stored = list(used), [_snapshot_values(snapshot) for snapshot in snapshots]
        with self.writing() as db:
            self.record(db, rows)
            if stored:  # one that exists stays as it is: the answer to a COMMIT may have been lost
                db.insert(*self._inserting("context_snapshots", SNAPSHOTS), "ON CONFLICT (id) DO NOTHING", stored)

    def record(self, db: Statements, used: Iterable[RequestUsage]) -> None:
        """Record requests within the caller's transaction."""
        rows: dict[tuple[str, str], dict[str, object]] = {}
        for row in map(_row, used):
            before = rows.setdefault((row["source"], row["request_id"]), row)
            if before["output_tokens"] <= row["output_tokens"]:
                rows[row["source"], row["request_id"]] = row
        clients = {id for source, id in rows if source == CLIENT}
        reported = {id for source, id in rows if source == TRANSCRIPT}
        for id in reported & (clients | self._of_clients(db, reported)):
            del rows[TRANSCRIPT, id]
        for marks, ids in _chunks(clients):
            db.change(f"DELETE FROM context_usage WHERE source = '{TRANSCRIPT}' AND request_id IN ({marks})", **ids)
        if rows:
            db.insert(*self._inserting("context_usage", USAGE), _BOOK, list(rows.values()))

    def _of_clients(self, db: Statements, ids: set[str]) -> set[str]:
        """Return those of the ids that a client has recorded."""
        query = f"SELECT request_id FROM context_usage WHERE source = '{CLIENT}' AND request_id IN ({{}})"
        return {id for marks, some in _chunks(ids) for (id,) in db.ask(query.format(marks), **some)}

    def _inserting(self, table: str, columns: Sequence[str]) -> tuple[str, str]:
        values = ", ".join(self.time.format(name) if name in _TIMES else ":" + name for name in columns)
        return f"INSERT INTO {table} ({', '.join(columns)}) VALUES", f"({values})"

    def sweep(
        self,
        now: float,
        snapshot_days: int,
        sessions: Collection[str] = (),
        goes_on: Callable[[], bool] = lambda: True,
        at_once: int = AT_ONCE,
    ) -> bool:
        """Remove old rows in transactions so small that nobody waits for one, until none is left or `goes_on` returns False: usage after
        KEPT_DAYS, snapshots after `snapshot_days`, and those of these sessions beyond the newest. Return whether none is left."""
        while self.sweep_some(now, snapshot_days, sessions, at_once):
            if not goes_on():
                return False
        return True

    def sweep_some(self, now: float, snapshot_days: int, sessions: Iterable[str], most: int) -> int:
        """Remove at most this many old rows of each kind in one transaction; return how many were removed."""
        before = self.time.format("before")
        with self.writing() as db:
            deleted = db.change(_OLD_USAGE, day=day_of(now - KEPT_DAYS * DAY_S), most=most)
            deleted += db.change(_OLD_SNAPSHOTS.format(before), before=now - snapshot_days * DAY_S, most=most)
            for session in sorted(sessions):
                deleted += db.change(_BEYOND, session=session, kept=MOST_OF_A_SESSION, most=most)
        return deleted

    def of_session(self, session_id: str, user: str = "") -> Sum:
        """Return the usage of a session so far (of a user: in a shared database two may have the same session id)."""
        (row,) = self._query(f"SELECT {_SUMS} FROM context_usage", "", user, "", session=name_of(session_id))
        return _sum(row)

    def of_user(self, user: str, since: str) -> Sum:
        """Return the usage of a user since a day."""
        (row,) = self._query(f"SELECT {_SUMS} FROM context_usage", since, user, "")
        return _sum(row)

    def by_day(self, since: str, user: str = "") -> list[tuple[str, Sum]]:
        """Return the usage of each day since one, oldest first."""
        rows = self._query(f"SELECT day, {_SUMS} FROM context_usage", since, user, "GROUP BY day ORDER BY day")
        return [(row[0], _sum(row[1:])) for row in rows]

    def by_session(self, since: str = "", user: str = "", most: int = 100) -> list[SessionUsage]:
        """Return at most this many sessions that used anything since a day, the newest first."""
        query = f"SELECT session_id, max(user_id), max(project), {self.seconds.format('max(at)')} AS newest, {_SUMS} FROM context_usage"
        rows = self._query(query, since, user, "GROUP BY session_id ORDER BY newest DESC LIMIT :most", most=most)
        return [SessionUsage(row[0], row[1], row[2], float(row[3]), _sum(row[4:])) for row in rows]

    def users(self, since: str = "") -> list[str]:
        """Return the users with any usage since a day, by name."""
        return sorted(user for (user,) in self._query("SELECT user_id FROM context_usage", since, "", "GROUP BY user_id"))

    def snapshots(self, session_id: str, most: int) -> list[Snapshot]:
        """Return at most this many of a session's newest snapshots, newest first."""
        columns = ", ".join(self.seconds.format(name) if name in _TIMES else name for name in SNAPSHOTS)
        query = f"SELECT {columns} FROM context_snapshots WHERE session_id = :session ORDER BY created_at DESC LIMIT :most"
        with self.reading() as db:
            return [_snapshot(row) for row in db.ask(query, session=name_of(session_id), most=most)]

    def _query(self, query: str, since: str, user: str, rest: str, **values: object) -> Sequence[Sequence[Any]]:
        wanted = {"session": "session_id = :session"} if "session" in values else {}
        wanted |= {"since": "day >= :since"} if since else {}
        wanted |= {"user": "user_id = :user"} if user else {}
        values |= {name: value for name, value in (("since", since), ("user", name_of(user))) if name in wanted}
        where = f"WHERE {' AND '.join(wanted.values())}" if wanted else ""
        with self.reading() as db:
            return db.ask(f"{query} {where} {rest}", **values)


def _row(used: RequestUsage) -> dict[str, Any]:
    names = {key: name_of(getattr(used, key)) for key in NAMES}
    tokens = [min(max(count, 0), _MOST_TOKENS) for count in used.tokens]
    return {**names, "at": _time(used.at), "day": day_of(used.at), **dict(zip(TOKENS, tokens)), "usd": used.usd}


def _snapshot_values(snapshot: Snapshot) -> dict[str, object]:
    documents = {name: json.dumps(getattr(snapshot, name)) for name in ("tier_breakdown", "pruning_strategy")}
    return {**snapshot._asdict(), **documents, "created_at": _time(snapshot.created_at)}


def _snapshot(row: Sequence[Any]) -> Snapshot:
    values = dict(zip(SNAPSHOTS, row))
    documents = {name: _document(values[name]) for name in ("tier_breakdown", "pruning_strategy")}
    numbers = {name: float(values[name]) for name in ("budget_percent", "created_at", "budget_remaining_percent")}
    return Snapshot(**{**values, **documents, **numbers, "id": str(values["id"])})


def _document(stored: Any) -> Any:
    return json.loads(stored) if isinstance(stored, str) else stored  # the driver of PostgreSQL has read it already


def _time(at: float) -> float:
    """Return a time that every database can hold; NotWritable for any other."""
    if not 0 <= at < LATEST:
        raise NotWritable("a time that no calendar has cannot be written")
    return at


def _sum(row: Sequence[Any]) -> Sum:
    requests, into, read, written, out, usd, unpriced = row
    return Sum(int(requests), int(into), int(read), int(written), int(out), float(usd), int(unpriced))


def _chunks(ids: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (parameters, their values) of ids, in chunks that fit one statement."""
    rest = sorted(ids)
    for at in range(0, len(rest), AT_ONCE):
        some = {f"id{number}": id for number, id in enumerate(rest[at : at + AT_ONCE])}
        yield ", ".join(":" + name for name in some), some
